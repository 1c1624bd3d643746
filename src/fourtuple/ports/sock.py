"""A socket whose connect() chooses its source port: the hook for every client that can be given sockets.

The kernel reports a port conflict at once, even on a non-blocking socket, so trying port after port inside connect()
works under blocking code, timeouts, asyncio and uvloop alike.
"""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

from .claim import Claim
from .holding import PortHolder
from .registry import SpaceRegistry, default_registry

if TYPE_CHECKING:
    from typing import Self

    from .sources import Sources


# Called by name: super() costs a microsecond here, a fifth of what a connection costs more.
_open = socket.socket.__init__
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


class Socket(PortHolder):
    """A TCP ``socket.socket`` that takes its source port from a port space at connect() and gives it back at close().

    Arguments as for ``socket.socket``; ``registry`` says which spaces (by default the module-wide ones) and ``sources``
    which source addresses (by default the registry's). A socket bound to a port keeps it; one bound to an address with
    port 0 keeps the address. Hosts that are names are resolved at connect(), and the first address is used.

    connect() raises what ``socket.socket`` raises, PortsExhausted when no source port is left, and NoSuchLocalAddress
    when this machine has no address to connect from.

    Raises ValueError for anything but TCP over IPv4 or IPv6.
    """

    __slots__ = ()

    def __init__(
        self,
        family: int = -1,
        type: int = -1,
        proto: int = -1,
        fileno: int | None = None,
        *,
        registry: SpaceRegistry | None = None,
        sources: Sources | None = None,
    ) -> None:
        if registry is None:
            registry = default_registry()
        self._claim = Claim(registry, registry.sources if sources is None else sources)
        _open(self, family, type, proto, fileno)
        if type != socket.SOCK_STREAM or proto > 0 or family not in _FAMILIES or fileno is not None:
            # Not the usual case, in which the arguments alone tell.
            self._check_is_tcp(opened_here=fileno is None)
        if fileno is not None:
            self._claim.note_binding(self)

    def connect(self, address: Any, /) -> None:
        """Connect from the longest-free source port; see the class."""
        self._claim.connect(self, address)

    def connect_ex(self, address: Any, /) -> int:
        """As connect(), but returns the errno, 0 for success. Errors of name resolution are raised."""
        try:
            self.connect(address)
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

    def dup(self) -> Self:
        """As of ``socket.socket``; the copy is a Socket that has its port already."""
        self._claim.note_duplicate()
        fd = socket.dup(self.fileno())
        copy = self.__class__(self.family, self.type, self.proto, fileno=fd)
        copy.settimeout(self.gettimeout())
        return copy

    def _check_is_tcp(self, *, opened_here: bool) -> None:
        if self.family in _FAMILIES and self.type == socket.SOCK_STREAM and self.proto in (0, socket.IPPROTO_TCP):
            return
        kind = f"family {self.family!r}, type {self.type!r}, proto {self.proto}"
        if opened_here:
            self.close()
        else:
            self.detach()
        raise ValueError(f"family, type, proto: only TCP over IPv4 or IPv6 has source ports to choose, not {kind}")
