"""The live kernel as a host: real sockets in the calling thread's network namespace, and servers that accept all."""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Iterable
from contextlib import ExitStack
from ipaddress import IPv6Address
from typing import TYPE_CHECKING, cast

from fourtuple.linux import sockopt, sysctl, tcp_info
from fourtuple.linux.tcp_info import TcpState
from kernel.links import add_local_prefix, ip
from kernel.servers import PATIENCE, until
from model.conformance.hosts import SERVER_PORTS, V4, V6, Address, Addresses, Sock

if TYPE_CHECKING:
    from typing import Self

# Of <linux/netlink.h> and <linux/inet_diag.h>.
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_NLMSG_ERROR = 2
_REQUEST = struct.Struct("=IHHII BBBxI")
_ID = struct.Struct("!HH16s16s")
_ANY_INTERFACE_OR_COOKIE = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)

_AT_REST = (None, TcpState.FIN_WAIT2, TcpState.TIME_WAIT)


class LiveHost:
    """To be entered in a fresh network namespace, with which its addresses go."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self._stack = ExitStack()
        self._listeners: dict[int, socket.socket] = {}
        self._diag = self._stack.enter_context(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG))

    def __enter__(self) -> Self:
        for address in V4.others:
            ip(f"addr add {address}/32 dev lo")
        for address in V6.others:
            ip(f"addr add {address}/128 dev lo")
        add_local_prefix("fd03::/64")
        for port in SERVER_PORTS:
            listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
            listener.settimeout(PATIENCE)
            self._listeners[port] = self._stack.enter_context(listener)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def socket(self, family: int) -> LiveSock:
        """A socket that is closed with the host."""
        # Without a timeout: with one, Python takes the EISCONN of a second connect() for success.
        return LiveSock(self, self._stack.enter_context(socket.socket(family, socket.SOCK_STREAM)))

    def configure(self, **settings: object) -> None:
        """Set sysctls of net.ipv4."""
        for name, value in settings.items():
            if isinstance(value, tuple | set):
                ports = cast("Iterable[int]", value)
                value = (" " if isinstance(value, tuple) else ",").join(map(str, ports))
            sysctl.write(f"net.ipv4.{name}", str(value))

    def peer_closes(self, sock: Sock) -> None:
        """Close the server's end, and wait until ours knows."""
        assert isinstance(sock, LiveSock)
        sock.peer_closes()

    def outlast(self, milliseconds: int) -> None:
        """Wait for the kernel's clock, which counts ticks."""
        end = time.monotonic_ns() + milliseconds * 1_000_000
        until(lambda: time.monotonic_ns() > end)

    def accept(self, port: int) -> socket.socket:
        """The server's end of the connection just made."""
        sock, _ = self._listeners[port].accept()
        return self._stack.enter_context(sock)

    def state(self, local: Address, remote: Address) -> TcpState | None:
        """What the kernel's table has under a four-tuple, TIME_WAIT included."""
        request = _ID.pack(local[1], remote[1], _as_v6(local[0]), _as_v6(remote[0])) + _ANY_INTERFACE_OR_COOKIE
        length = _REQUEST.size + len(request)
        header = (length, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0)
        self._diag.send(_REQUEST.pack(*header, socket.AF_INET6, socket.IPPROTO_TCP, 0, 0xFFFFFFFF) + request)
        reply = self._diag.recv(8192)
        if struct.unpack_from("=IH", reply)[1] == _NLMSG_ERROR:
            (code,) = struct.unpack_from("=i", reply, 16)
            if -code == errno.ENOENT:
                return None
            raise OSError(-code, os.strerror(-code))
        state = TcpState(reply[17])
        # Without a connection the kernel names who listens.
        return None if state is TcpState.LISTEN else state


class LiveSock:
    """A real socket and, once connected, the server's end."""

    def __init__(self, host: LiveHost, sock: socket.socket) -> None:
        self._host = host
        self._sock = sock
        self._peer: socket.socket | None = None
        self._ends: tuple[Address, Address] | None = None
        self.setsockopt = sock.setsockopt
        self.bind = sock.bind
        self.listen = sock.listen
        self.getsockname = sock.getsockname

    def connect(self, address: Address) -> None:
        """Connect and have the server accept."""
        self._sock.connect(address)
        self._peer = self._host.accept(address[1])
        self._ends = self._sock.getsockname()[:2], self._sock.getpeername()[:2]
        assert self._peer.getpeername()[1] == self._ends[0][1]

    def close(self) -> None:
        """Close, and wait for the other end's acknowledgement."""
        self._sock.close()
        if self._ends is not None:
            until(lambda: self._state() in _AT_REST)

    def reset(self) -> None:
        """Close both ends, ours with a reset."""
        sockopt.reset_on_close(self._sock)
        self._sock.close()
        if self._peer is not None:
            self._peer.close()

    def peer_closes(self) -> None:
        """Close the other end, and wait for what that does to ours."""
        assert self._peer is not None
        self._peer.close()
        if self._sock.fileno() >= 0:
            until(lambda: tcp_info.read(self._sock).state is TcpState.CLOSE_WAIT)
        else:
            until(lambda: self._state() is not TcpState.FIN_WAIT2)

    def _state(self) -> TcpState | None:
        assert self._ends is not None
        return self._host.state(*self._ends)


def _as_v6(host: str) -> bytes:
    return IPv6Address(host if ":" in host else f"::ffff:{host}").packed
