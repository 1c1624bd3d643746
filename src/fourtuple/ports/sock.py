"""A socket whose connect() chooses its source port: the hook for every client that can be given sockets.

The kernel reports a port conflict at once, even on a non-blocking socket, so trying port after port inside connect()
works under blocking code, timeouts, asyncio and uvloop alike.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from .claim import Claim
from .holding import PortHolder
from .registry import SpaceRegistry, default_registry

if TYPE_CHECKING:
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

    def dup(self) -> Socket:
        """As of ``socket.socket``; the copy has its port already."""
        self._claim.note_duplicate()
        fd = socket.dup(self.fileno())
        try:
            copy = Socket(self.family, self.type, self.proto, fd, registry=self._claim.registry)
        except BaseException:
            os.close(fd)
            raise
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
