"""What every class of socket does that takes its port from a space: from bind() and connect() to its end."""

from __future__ import annotations

import errno
import socket
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .claim import Claim

# Called by name: super() costs a microsecond here.
_close = socket.socket.close
# The finaliser of the base class, which typeshed does not know.
_finalise: Callable[[socket.socket], None] = getattr(socket.socket, "__del__")  # noqa: B009


class PortHolder(socket.socket):
    """A socket whose connect() takes a port, and which gives it back when it is closed, detached or collected.

    Subclasses set ``_claim`` first.
    """

    __slots__ = ("_claim",)

    _claim: Claim

    def exchange_claim(self, claim: Claim) -> Claim:
        """Put another claim in the place of this socket's, which moves on with the descriptor, and return that."""
        claimed, self._claim = self._claim, claim
        return claimed

    def connect(self, address: Any, /) -> None:
        """Connect from the longest-free source port; see the class."""
        self._claim.connect(self, address)

    def connect_ex(self, address: Any, /) -> int:
        """As connect(), but returns the errno, 0 for success. Errors of name resolution are raised."""
        try:
            PortHolder.connect(self, address)
        except socket.gaierror:
            raise
        except TimeoutError as error:
            return error.errno or errno.EAGAIN
        except OSError as error:
            if error.errno is None:
                raise
            return error.errno
        return 0

    def bind(self, address: Any, /) -> None:
        """Bind; with port 0 only the address is fixed (IP_BIND_ADDRESS_NO_PORT) and connect() chooses the port."""
        self._claim.bind(self, address)

    def setsockopt(self, *option: Any) -> None:
        """As of ``socket.socket``."""
        super().setsockopt(*option)
        self._claim.note_option(option)

    def shutdown(self, how: int) -> None:
        """As of ``socket.socket``."""
        if how != socket.SHUT_RD:
            self._claim.note_shutdown(self)
        super().shutdown(how)

    def close(self) -> None:
        """Close, and give the port back."""
        self._claim.close(self, _close)

    def detach(self) -> int:
        """As of ``socket.socket``; the port counts as somebody else's from here on."""
        fd = super().detach()
        self._claim.detach()
        return fd

    def __del__(self) -> None:
        if self.fileno() < 0:
            return
        # A leaked socket: the base class closes it, and warns.
        if sys.is_finalizing():
            _finalise(self)
        else:
            self._claim.close(self, _finalise)
