"""The sockets of a run: addresses, options by the flags that ask for them, and listeners."""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from fourtuple.linux.sockopt import IP_FREEBIND
from fourtuple.linux.sysctl import exists, read

from .errors import OptionRefused, RunFailed, port_in_use

if TYPE_CHECKING:
    from fourtuple.linux.addresses import SockAddr

    from .options import Tcp

# Of <asm-generic/socket.h> and <linux/tcp.h>.
_SO_DEBUG: Final = 1
_SO_MARK: Final = 36
_SO_MAX_PACING_RATE: Final = 47
_TCP_FASTOPEN_CONNECT: Final = 30
_TCP_TX_DELAY: Final = 37
_AVAILABLE: Final = "net.ipv4.tcp_available_congestion_control"


class SocketOption(NamedTuple):
    """An option as setsockopt() takes it, and the flag that asks for it, with its value."""

    flag: str
    level: int
    name: int
    value: int | bytes

    @property
    def plain(self) -> tuple[int, int, int | bytes]:
        """The arguments of setsockopt()."""
        return self.level, self.name, self.value


def shared_options(options: Tcp, mark: int) -> list[SocketOption]:
    """What both ends of data connections have. Accepted sockets inherit all of it from their listener."""
    wanted: list[SocketOption] = []
    if options.debug:
        wanted.append(SocketOption("--debug", socket.SOL_SOCKET, _SO_DEBUG, 1))
    if mark:
        wanted.append(SocketOption(f"--mark {mark}", socket.SOL_SOCKET, _SO_MARK, mark))
    if options.freebind:
        wanted.append(freebind_option())
    if options.no_delay:
        wanted.append(SocketOption("--no-delay", socket.IPPROTO_TCP, socket.TCP_NODELAY, 1))
    if options.max_pacing_rate:
        # As 8 bytes: in 4 it ends at 4 GB/s.
        rate = struct.pack("Q", options.max_pacing_rate)
        flag = f"--max-pacing-rate {options.max_pacing_rate}"
        wanted.append(SocketOption(flag, socket.SOL_SOCKET, _SO_MAX_PACING_RATE, rate))
    if options.congestion_control:
        name = options.congestion_control
        flag = f"--congestion-control {name}"
        wanted.append(SocketOption(flag, socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode()))
    if options.tcp_tx_delay:
        delay = options.tcp_tx_delay
        wanted.append(SocketOption(f"--tcp-tx-delay {delay}", socket.IPPROTO_TCP, _TCP_TX_DELAY, delay))
    return wanted


def freebind_option() -> SocketOption:
    """Of IPv4, which the kernel lets IPv6 sockets have too."""
    return SocketOption("--freebind", socket.SOL_IP, IP_FREEBIND, 1)


def reuseaddr_option() -> SocketOption:
    """What --reuseaddr sets on data sockets."""
    return SocketOption("--reuseaddr", socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def fastopen_option() -> SocketOption:
    """What --tcp-fastopen sets on connecting sockets."""
    return SocketOption("--tcp-fastopen", socket.IPPROTO_TCP, _TCP_FASTOPEN_CONNECT, 1)


def try_options(family: int, options: Iterable[SocketOption]) -> None:
    """Set the options on a socket that is thrown away. Raises OptionRefused that names the flag."""
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        for option in options:
            try:
                sock.setsockopt(*option.plain)
            except OSError as error:
                code = error.errno or errno.EINVAL
                raise OptionRefused(code, _refusal(option, error)) from error


def _refusal(option: SocketOption, error: OSError) -> str:
    text = f"{option.flag}: the kernel refuses this socket option ({error.strerror})"
    if option.name == socket.TCP_CONGESTION and option.level == socket.IPPROTO_TCP:
        names = read(_AVAILABLE) if exists(_AVAILABLE) else "(unknown)"
        return f"{text}; available are {names} (load another with modprobe, as root)"
    if error.errno in (errno.EPERM, errno.EACCES):
        return f"{text}: run as root, or with CAP_NET_ADMIN"
    return f"{text}: leave the flag out"


def addresses(host: str, port: int, *, ipv4: bool, ipv6: bool, passive: bool = False) -> list[tuple[int, SockAddr]]:
    """What a host resolves to, as (family, address) in the resolver's order.

    No host is this machine: its loopback addresses, or every address of it when ``passive``. Raises RunFailed for
    a name that does not resolve.
    """
    family = socket.AF_UNSPEC if ipv4 == ipv6 else socket.AF_INET if ipv4 else socket.AF_INET6
    flags = socket.AI_PASSIVE if passive else 0
    try:
        found = socket.getaddrinfo(host or None, port, family, socket.SOCK_STREAM, flags=flags)
    except socket.gaierror as error:
        which = {socket.AF_INET: "IPv4 ", socket.AF_INET6: "IPv6 "}.get(family, "")
        raise RunFailed(
            errno.EADDRNOTAVAIL, f"{host!r} has no {which}address ({error.strerror}): check the name, -4 and -6"
        ) from error
    return [(family, _sockaddr(address)) for family, _, _, _, address in found]


def _sockaddr(address: tuple[str | int, ...] | tuple[int, bytes]) -> SockAddr:
    host, port, *rest = address
    # The zone of a link-local address is in the scope id too.
    literal = str(host).partition("%")[0]
    if rest:
        return literal, int(port), int(rest[0]), int(rest[1])
    return literal, int(port)


def with_port(address: SockAddr, port: int) -> SockAddr:
    """The same address with another port."""
    return (address[0], port, address[2], address[3]) if len(address) == 4 else (address[0], port)


def control_listener(family: int, address: SockAddr, *, backlog: int, freebind: bool) -> socket.socket:
    """A listener for control connections. Raises PortInUse, and RunFailed for an address that cannot be bound."""
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if freebind:
            sock.setsockopt(*freebind_option().plain)
        _bind(sock, "--control-port", address)
        sock.listen(backlog)
    except BaseException:
        sock.close()
        raise
    return sock


def data_listeners(
    family: int, address: SockAddr, ports: Sequence[int], threads: int, options: Sequence[SocketOption], backlog: int
) -> list[list[socket.socket]]:
    """For each thread a listener on each port; the kernel spreads connections over them. Raises like the above."""
    listeners: list[list[socket.socket]] = [[] for _ in range(threads)]
    try:
        for port in ports:
            there = with_port(address, port)
            _bind_alone(family, there, options)
            for thread in listeners:
                sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                thread.append(sock)
                for option in options:
                    sock.setsockopt(*option.plain)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                _bind(sock, "--port", there)
                sock.listen(backlog)
    except BaseException:
        for sock in [sock for thread in listeners for sock in thread]:
            sock.close()
        raise
    return listeners


def _bind_alone(family: int, address: SockAddr, options: Sequence[SocketOption]) -> None:
    # SO_REUSEPORT would let us share the port with another server, which then got half of the connections.
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        for option in options:
            sock.setsockopt(*option.plain)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(sock, "--port", address)


def _bind(sock: socket.socket, flag: str, address: SockAddr) -> None:
    try:
        sock.bind(address)
    except OSError as error:
        host, port = address[:2]
        if error.errno == errno.EADDRINUSE:
            raise port_in_use(flag, host, port) from error
        if error.errno == errno.EADDRNOTAVAIL:
            text = f"--host: no interface of this machine has the address {host}; choose another, or use --freebind"
            raise RunFailed(errno.EADDRNOTAVAIL, text) from error
        raise
