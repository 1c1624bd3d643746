"""Which addresses this machine has, and which of them routing picks for a destination.

All functions speak of the network namespace of the calling thread. Link-local IPv6 addresses are
written with the index of their interface (``fe80::1%2``), as getaddrinfo() reads them; bind()
itself wants the index as scope id.
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ifaddr import Adapter

SockAddr: TypeAlias = tuple[str, int] | tuple[str, int, int, int]
"""What ``socket.connect`` takes: (host, port), and for IPv6 also (flow info, scope id)."""

_DISCARD: Final = 9  # a port for connect() on datagram sockets, to which nothing is sent


def family_of(host: str) -> socket.AddressFamily:
    """Return the family of ``host``, the literal of an address."""
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def packed(family: int, address: SockAddr) -> bytes:
    """Return the ``struct sockaddr`` of an address of a family, as `fourtuple.linux.libc` takes it.

    Raises ``OSError`` if the host is no literal of the family.
    """
    host, port, *rest = address
    if family == socket.AF_INET:
        return struct.pack("=HH4s8x", family, socket.htons(port), socket.inet_pton(family, host))
    flow_info, scope_id = rest or (0, 0)
    return struct.pack(
        "=HHI16sI", family, socket.htons(port), socket.htonl(flow_info), socket.inet_pton(family, host), scope_id
    )


def interface_addresses(name: str, family: int) -> list[str]:
    """Return the addresses of ``family`` of an interface, in the kernel's order, aliases included.

    Raises ``OSError`` (``ENODEV``) that lists the interfaces if there is none of that name. An
    interface without addresses gives an empty list.
    """
    names = [interface for _, interface in socket.if_nameindex()]
    if name not in names:
        raise OSError(errno.ENODEV, f"no interface is called {name!r}: there are {', '.join(names) or 'none'}")
    # An address added under a label ("eth0:1") is listed as an adapter of its own.
    return _of_family(family, (adapter for adapter in _adapters() if adapter.name.partition(":")[0] == name))


def local_addresses(family: int) -> list[str]:
    """Return the addresses of ``family`` that interfaces have, in the kernel's order."""
    return _of_family(family, _adapters())


def is_local(host: str) -> bool:
    """Return whether connections can come from ``host``, the literal of a unicast address.

    True for what an interface has, and for IPv4 also for what a local route covers, as that of
    127.0.0.0/8. False for the broadcast addresses of interfaces. No packet is sent.
    """
    with socket.socket(family_of(host), socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((host, 0))
            # bind() takes broadcast addresses too; towards them the kernel refuses connect().
            sock.connect((host, _DISCARD))
        except OSError:
            return False
    return True


def source_for(family: int, sockaddr: SockAddr) -> str:
    """Return the source address that routing picks towards ``sockaddr``. No packet is sent.

    Raises the kernel's ``OSError``: ``ENETUNREACH`` without a route, ``EADDRNOTAVAIL`` where the
    family has no address at all.
    """
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect(sockaddr)
        host, _, *rest = sock.getsockname()
    return _scoped(host, rest[1] if rest else 0)


def _adapters() -> Iterable[Adapter]:
    # Imported on use: ifaddr starts a process (ldconfig) when imported.
    import ifaddr

    return ifaddr.get_adapters()


def _of_family(family: int, adapters: Iterable[Adapter]) -> list[str]:
    found = [ip.ip for adapter in adapters for ip in adapter.ips]
    if family == socket.AF_INET:
        return [ip for ip in found if isinstance(ip, str)]
    return [_scoped(ip[0], ip[2]) for ip in found if not isinstance(ip, str)]


def _scoped(host: str, scope_id: int) -> str:
    return f"{host}%{scope_id}" if scope_id else host
