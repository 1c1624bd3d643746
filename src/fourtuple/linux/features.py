"""What this kernel lets a program choose about its connections, found by trying it.

Never by the kernel's version: distributions bring features to older kernels and take others away.
The functions called ``has_...`` are for use at run time, the rest for reports. Connections are made
over loopback in the network namespace of the calling thread, and leave nothing behind, TIME_WAIT
neither. Without loopback, an option that the kernel accepts counts as present, and is said to be untried.
"""

from __future__ import annotations

import errno
import os
import random
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from fourtuple.linux import limits, sockopt, sysctl
from fourtuple.linux.addresses import SockAddr

LOOPBACK: Final[Mapping[int, str]] = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
# Addresses for documentation, which no interface should have (RFC 5737, RFC 3849).
_FOREIGN: Final[Mapping[int, str]] = {
    socket.AF_INET: "203.0.113.77",
    socket.AF_INET6: "2001:db8::77",
}
# Candidate ports that a probe tries before it gives up: others may hold some of them.
_TRIES: Final = 16
# Those that are nobody's by registration (RFC 6335).
_DYNAMIC_PORTS: Final = range(49152, 65536)
_TIME_WAIT: Final = 60
# Seconds for a connection over loopback, which takes microseconds; while the interface is down, none is refused.
_PATIENCE: Final = 1
_UNTRIED: Final = "accepted; not tried with connect(), for want of loopback"


class Feature(NamedTuple):
    """One thing tried. ``cost``: what its lack costs, empty if it is present."""

    name: str
    present: bool
    detail: str
    cost: str


def attempt(name: str, cost: str, action: Callable[[], str]) -> Feature:
    """Run ``action``, which returns the detail of a present feature or raises ``OSError``."""
    try:
        return Feature(name, True, action(), "")
    except OSError as error:
        return Feature(name, False, error.strerror or str(error), cost)


def has_local_port_range(family: int = socket.AF_INET) -> bool:
    """Return whether TCP sockets of ``family`` take a one-port local range and give it back.

    A socket and two system calls, no traffic.
    Whether connect() then uses it is `local_port_range`'s to try. False also where the family
    itself is missing.
    """
    wanted = sockopt.one_port(40000)
    try:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.setsockopt(socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE, wanted)
            return sock.getsockopt(socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE) == wanted
    except OSError:
        return False


def has_shared_bind(family: int = socket.AF_INET) -> bool:
    """Return whether one port serves two destinations by bind() and ``SO_REUSEADDR``.

    This one takes three connections over loopback, for it is asked only where there is no local port
    range. False also without loopback.
    """
    return shared_bind(family).present


def loopback(family: int) -> Feature:
    """Try to listen on and connect to the loopback address of ``family``.

    On ports of its own choice: a local port range with none left is no fault of loopback's.
    """

    def action() -> str:
        for port in random.sample(_DYNAMIC_PORTS[1:], _TRIES):
            try:
                with _bound(family, port) as server, _bound(family, port - 1) as client:
                    server.listen()
                    client.connect(server.getsockname())
                    return f"connected to {LOOPBACK[family]}"
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        raise OSError(errno.EADDRINUSE, f"{_TRIES} ports tried, none was free")

    return attempt(
        f"{_ip(family)} loopback",
        f"connections to {LOOPBACK[family]} fail, and what connect() does with {_ip(family)} is not tried: see if "
        "lo is up and has the address (ip address show lo)",
        action,
    )


def local_port_range(family: int) -> Feature:
    """Try a one-port local range: connect() must use that port and, once it is taken, no other."""

    def action() -> str:
        if not has_local_port_range(family):
            raise OSError(errno.ENOPROTOOPT, "setsockopt(IP_LOCAL_PORT_RANGE) is refused")
        if not loopback(family).present:
            return _UNTRIED
        with listener(family) as server, _client(family) as client:
            port = _connect_on_one_port(client, server.getsockname())
            if client.getsockname()[1] != port:
                raise OSError(errno.EINVAL, "accepted, but connect() chose another port")
            with _client(family) as second:
                sockopt.set_port_range(second, port, port)
                if second.connect_ex(server.getsockname()) != errno.EADDRNOTAVAIL:
                    raise OSError(errno.EINVAL, "accepted, but a taken port gave way to another")
        return "connect() uses that port or none"

    return attempt(
        f"one-port range, {_ip(family)}",
        "ports are chosen by bind() instead, which keeps other programs off each port used",
        action,
    )


def bind_address_no_port(family: int) -> Feature:
    """Try to fix a source address alone: bind() must leave the port to connect()."""

    def action() -> str:
        if not loopback(family).present:
            with _client(family) as client:
                sockopt.set_bind_address_no_port(client)
            return _UNTRIED
        with listener(family) as server, _client(family) as client:
            sockopt.set_bind_address_no_port(client)
            client.bind((LOOPBACK[family], 0))
            if client.getsockname()[1] != 0:
                raise OSError(errno.EINVAL, "accepted, but bind() took a port")
            client.connect(server.getsockname())
        return "bind() takes no port, connect() does"

    return attempt(
        f"address-only bind, {_ip(family)}",
        "a chosen source address takes one port away from all destinations",
        action,
    )


def shared_bind(family: int) -> Feature:
    """Try one local port towards two destinations, by bind() and ``SO_REUSEADDR``."""

    def action() -> str:
        if not loopback(family).present:
            raise OSError(errno.ENETUNREACH, "not tried, for want of loopback")
        with listener(family) as one, listener(family) as other:
            for port in _candidates():
                try:
                    with _bound(family, port) as a, _bound(family, port) as b:
                        a.connect(one.getsockname())
                        b.connect(other.getsockname())
                        return "one port serves two destinations"
                except OSError as error:
                    if error.errno not in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
                        raise
        raise OSError(errno.EADDRINUSE, f"{_TRIES} ports tried, none could be shared")

    return attempt(
        f"shared bind, {_ip(family)}",
        "no way to choose ports on kernels without a one-port range",
        action,
    )


def freebind(family: int) -> Feature:
    """Try to bind to an address that no interface has."""

    def action() -> str:
        with _client(family) as sock:
            sockopt.set_freebind(sock)
            sock.bind((_FOREIGN[family], 0))
        return "bind() takes any address"

    return attempt(
        f"freebind, {_ip(family)}",
        "each source address must be added to an interface first",
        action,
    )


def time_wait_reuse() -> Feature:
    """Tell from the settings when a port in TIME_WAIT can go to the same destination again."""

    def action() -> str:
        mode = sysctl.tcp_tw_reuse()
        if mode == 0:
            raise OSError(errno.EOPNOTSUPP, "net.ipv4.tcp_tw_reuse = 0")
        if sysctl.tcp_timestamps() == 0:
            raise OSError(errno.EOPNOTSUPP, "net.ipv4.tcp_timestamps = 0, which reuse needs")
        delay = sysctl.tcp_tw_reuse_delay()
        soon = "1 to 2 s" if delay is None else f"{delay:g} s"
        where = "everywhere" if mode == 1 else f"on loopback, {_TIME_WAIT} s elsewhere"
        return f"mode {mode}: {soon} {where}"

    return attempt(
        "TIME_WAIT reuse",
        f"a port that this side closes first is not chosen again for {_TIME_WAIT} s",
        action,
    )


def usable_ports() -> Feature:
    """Count the local port range less the reserved ports."""

    def action() -> str:
        ports = sysctl.local_port_range()
        usable = sysctl.count_usable_ports()
        text = f"{ports.low}-{ports.high}: {usable} ports"
        if usable < ports.size:
            text += f" ({ports.size - usable} more are reserved)"
        if usable == 0:
            raise OSError(errno.EADDRNOTAVAIL, f"{ports.low}-{ports.high}: every port is reserved")
        return text

    return attempt(
        "local ports",
        "no connection without an explicit port: shorten net.ipv4.ip_local_reserved_ports",
        action,
    )


def file_limit() -> Feature:
    """Compare the limit of open files with the ports: one connection needs one of each."""
    soft, hard = limits.file_limit()
    usable = sysctl.count_usable_ports()
    return Feature(
        "open files",
        hard >= usable,
        f"{soft} now, {hard} at most, for {usable} ports",
        "" if hard >= usable else f"one process can hold {hard / usable:.0%} of the ports at most",
    )


def connection_features() -> Iterator[Feature]:
    """Try everything in this module, one after the other."""
    for probe in (loopback, local_port_range, bind_address_no_port, shared_bind, freebind):
        for family in LOOPBACK:
            yield probe(family)
    yield time_wait_reuse()
    yield usable_ports()
    yield file_limit()


def listener(family: int) -> socket.socket:
    """Return a listening TCP socket on the loopback address of ``family``, on a port of its own."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.bind((LOOPBACK[family], 0))
        sock.listen()
    except OSError:
        sock.close()
        raise
    return sock


# Clients of the probes close while nobody has accepted them, and then the listener does: it resets
# them, so that none stays in TIME_WAIT.
def _client(family: int) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(_PATIENCE)
    return sock


def _bound(family: int, port: int) -> socket.socket:
    sock = _client(family)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((LOOPBACK[family], port))
    except OSError:
        sock.close()
        raise
    return sock


def _connect_on_one_port(sock: socket.socket, destination: SockAddr) -> int:
    for port in _candidates():
        sockopt.set_port_range(sock, port, port)
        code = sock.connect_ex(destination)
        if code == 0:
            return port
        if code != errno.EADDRNOTAVAIL:
            raise OSError(code, os.strerror(code))
    raise OSError(errno.EADDRNOTAVAIL, f"accepted, but none of {_TRIES} ports could be used")


def _candidates() -> list[int]:
    low, high = sysctl.local_port_range()
    reserved = sysctl.reserved_ports()
    free = [port for port in range(low, high + 1) if not reserved[port >> 3] >> (port & 7) & 1]
    return random.sample(free, min(_TRIES, len(free)))


def _ip(family: int) -> str:
    return "IPv6" if family == socket.AF_INET6 else "IPv4"
