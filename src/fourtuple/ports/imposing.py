"""Putting a chosen port onto a socket: one imposer for each strategy.

Never mix two of them on one port: a port bound explicitly is closed to one-port ranges until its bind bucket is gone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from typing import TYPE_CHECKING, Any

from fourtuple.linux import libc, tcp_info
from fourtuple.linux.sockopt import IP_LOCAL_PORT_RANGE, one_port, set_bind_address_no_port

from . import endpoints
from .space import Reason
from .strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Iterable

# The methods of socket.socket itself, whatever the class of the socket overrides.
_setsockopt = socket.socket.setsockopt
_bind = socket.socket.bind


class Imposer:
    """How a strategy acts on a TCP socket that is not connected. This one leaves every port to the kernel.

    ``renews``: whether ``refused`` needs the options that were set on the socket.
    """

    renews = False

    def impose(self, sock: socket.socket, fd: int, source: str, port: int) -> Reason | None:
        """Make the next connect() use the port; ``fd`` is the socket's, ``source`` the address to bind, "" for any.

        Returns why the kernel refuses the port before it even connects, None if it does not.
        """
        return None

    def refused(self, sock: socket.socket, options: Iterable[tuple[Any, ...]]) -> None:
        """Make the socket ready for another port after a connect() that failed; ``options`` were set on it."""

    def withdraw(self, sock: socket.socket, source: str) -> None:
        """Let the kernel choose the port after all; ``source`` is the address to connect from, "" for any."""


class RangeImposer(Imposer):
    """IP_LOCAL_PORT_RANGE narrowed to one port. The same descriptor takes another port after a refusal."""

    def impose(self, sock: socket.socket, fd: int, source: str, port: int) -> Reason | None:
        """Never refuses: a port outside the kernel's range is ignored by it, which getsockname() shows later."""
        if libc.set_one_port(fd, port) < 0:
            _setsockopt(sock, socket.SOL_IP, IP_LOCAL_PORT_RANGE, one_port(port))
        return None

    def withdraw(self, sock: socket.socket, source: str) -> None:
        """Both bounds 0: the kernel's own range."""
        _setsockopt(sock, socket.SOL_IP, IP_LOCAL_PORT_RANGE, 0)


class BindImposer(Imposer):
    """bind() with SO_REUSEADDR. A socket whose bind succeeded keeps its port, so a refusal costs a new descriptor."""

    renews = True

    def impose(self, sock: socket.socket, fd: int, source: str, port: int) -> Reason | None:
        """Reason.TAKEN when another socket owns the port, OUTSIDE when it is privileged."""
        _setsockopt(sock, socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            _bind(sock, endpoints.to_bind(sock.family, source, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return Reason.TAKEN
            if error.errno == errno.EACCES:
                return Reason.OUTSIDE
            raise
        return None

    def refused(self, sock: socket.socket, options: Iterable[tuple[Any, ...]]) -> None:
        """Put a new socket with the same options under the same descriptor number, unless it is connected after all."""
        if tcp_info.read(sock).state is not tcp_info.TcpState.CLOSE:
            return
        inheritable = sock.get_inheritable()
        flags = fcntl.fcntl(sock, fcntl.F_GETFL)
        with socket.socket(sock.family, sock.type, sock.proto) as fresh:
            for option in options:
                _setsockopt(fresh, *option)
            fcntl.fcntl(fresh, fcntl.F_SETFL, flags)
            os.dup2(fresh.fileno(), sock.fileno(), inheritable)

    def withdraw(self, sock: socket.socket, source: str) -> None:
        """Bind the address alone: refused() may have left nothing bound."""
        if source:
            set_bind_address_no_port(sock)
            _bind(sock, endpoints.to_bind(sock.family, source, 0))


IMPOSERS: dict[Strategy, Imposer] = {
    Strategy.RANGE: RangeImposer(),
    Strategy.BIND: BindImposer(),
    Strategy.KERNEL: Imposer(),
}
