"""What a case knows of the machine it runs on: the socket API, settings, and who closes first."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import pytest

from fourtuple.linux import sockopt

Address = tuple[str, int]
"""A host and a port."""

Option = tuple[int, int, int]
"""Level, name and value of a socket option."""

SERVER_PORTS = (5000, 5001)
"""Where somebody listens on every address, outside the port ranges of all cases."""

REUSE: Option = (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
REUSE_PORT: Option = (socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
NO_PORT: Option = (socket.SOL_IP, sockopt.IP_BIND_ADDRESS_NO_PORT, 1)

BRIEF, LONG = 1, 60_000
"""Milliseconds of TIME_WAIT before reuse: the least and the most that the kernel accepts."""


class Addresses(NamedTuple):
    """The addresses of one family."""

    family: int
    any: str
    """The wildcard."""

    here: str
    """Loopback."""

    others: tuple[str, str]
    """Two more of the machine, which are not in the loopback network."""

    foreign: str
    """One that the machine has not."""

    many: str
    """Format of the addresses that servers answer on, from 1 to 999."""

    @property
    def server(self) -> Address:
        """The usual destination."""
        return self.here, SERVER_PORTS[0]

    @property
    def second_server(self) -> Address:
        """On the same address as `server`, at another port."""
        return self.here, SERVER_PORTS[1]

    @property
    def server_outside_loopback(self) -> Address:
        """On the first of `others`."""
        return self.others[0], SERVER_PORTS[0]


V4 = Addresses(socket.AF_INET, "0.0.0.0", "127.0.0.1", ("10.9.0.1", "10.9.0.2"), "10.9.9.9", "127.3.{}.{}")
V6 = Addresses(socket.AF_INET6, "::", "::1", ("fd09::1", "fd09::2"), "fd99::9", "fd03::{}:{}")


class Sock(Protocol):
    """A TCP socket. Errors are ``OSError`` with the kernel's number."""

    def setsockopt(self, level: int, name: int, value: int, /) -> None: ...
    def bind(self, address: Address, /) -> None: ...
    def listen(self) -> None: ...
    def connect(self, address: Address, /) -> None: ...
    def getsockname(self) -> tuple[str, int] | tuple[str, int, int, int]: ...
    def close(self) -> None: ...
    def reset(self) -> None:
        """Close so that nothing stays behind."""
        ...


class Host(Protocol):
    """A machine of its own, on which nothing has happened yet."""

    @property
    def addresses(self) -> Addresses:
        """The addresses of the family that the case is about."""
        ...

    def socket(self, family: int, /) -> Sock: ...

    def configure(self, **settings: object) -> None:
        """Change settings, by the last part of their sysctl name."""
        ...

    def peer_closes(self, sock: Sock, /) -> None:
        """The other end of a connection sends FIN."""
        ...

    def outlast(self, milliseconds: int, /) -> None:
        """Let a few milliseconds pass."""
        ...


def only_port(host: Host) -> None:
    """Leave connect() and bind() nothing to choose but port 20000."""
    host.configure(ip_local_port_range=(20000, 20000))


def within(low: int, high: int) -> Option:
    """A local port range of the socket's own, both ends included; 0 leaves an end to the system."""
    return socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE, sockopt.packed_range(low, high)


def opened(host: Host, *options: Option) -> Sock:
    """A socket of the case's family."""
    sock = host.socket(host.addresses.family)
    for option in options:
        sock.setsockopt(*option)
    return sock


def bound(host: Host, port: int, *options: Option, on: str | None = None) -> Sock:
    """A socket bound on the wildcard, or ``on`` an address."""
    sock = opened(host, *options)
    sock.bind((on or host.addresses.any, port))
    return sock


def connected(host: Host, to: Address | None = None, *options: Option, source: str | None = None) -> Sock:
    """A socket connected to the usual server, or ``to`` another, from a ``source`` address without a port."""
    sock = opened(host, *options) if source is None else bound(host, 0, NO_PORT, *options, on=source)
    sock.connect(to or host.addresses.server)
    return sock


def port_of(sock: Sock) -> int:
    """The local port."""
    return sock.getsockname()[1]


def leave_time_wait(host: Host, sock: Sock) -> None:
    """Close first, so that TIME_WAIT stays behind."""
    sock.close()
    host.peer_closes(sock)


def many_servers(host: Host, count: int) -> list[Address]:
    """Destinations that differ in their address."""
    template = host.addresses.many
    return [(template.format(1 + number // 200, 1 + number % 200), SERVER_PORTS[0]) for number in range(count)]


def refusal(code: int) -> AbstractContextManager[object]:
    """The body must be refused with exactly this error number."""
    return pytest.raises(OSError, match=rf"^\[Errno {code}\]")
