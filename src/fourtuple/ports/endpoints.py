"""Addresses as socket functions take them, and as port spaces are keyed by them."""

from __future__ import annotations

import ipaddress
import socket
from functools import lru_cache
from typing import TypeAlias

SocketAddress: TypeAlias = tuple[str, int] | tuple[str, int, int, int]
"""An IPv4 (host, port) or IPv6 (host, port, flowinfo, scope_id), the host a literal."""

_MAPPED = "::ffff:"


def is_literal(family: int, host: str) -> bool:
    """Whether ``host`` is an address literal of the family, which needs no look-up."""
    try:
        socket.inet_pton(family, host)
    except (OSError, ValueError):
        return False
    return True


@lru_cache(maxsize=4096)
def literal_address(host: str, port: int) -> tuple[int, SocketAddress] | None:
    """The family and socket address of a literal; None for a name, and for a literal with a zone (``fe80::1%eth0``)."""
    if ":" in host:
        return (socket.AF_INET6, (host, port, 0, 0)) if is_literal(socket.AF_INET6, host) else None
    return (socket.AF_INET, (host, port)) if is_literal(socket.AF_INET, host) else None


def canonical(host: str) -> str:
    """The address as the kernel compares it: one spelling, and IPv4 for a v4-mapped IPv6 address.

    A four-tuple of v4-mapped addresses is the IPv4 four-tuple: both live in the same table entry. A zone is kept.
    Raises ValueError when ``host`` is no literal.
    """
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return str(address)


def for_family(family: int, host: str) -> str:
    """An address to bind a socket of that family to: IPv4 becomes v4-mapped on an IPv6 socket; "" is any."""
    return _MAPPED + host if host and family == socket.AF_INET6 and ":" not in host else host


def to_bind(family: int, host: str, port: int) -> SocketAddress:
    """What bind() of a socket of that family takes for a canonical address, "" for any.

    The zone becomes the scope, for bind() overlooks it in the host. Raises OSError when no interface has its name.
    """
    bare, _, zone = for_family(family, host).partition("%")
    if not zone:
        return bare, port
    return bare, port, 0, int(zone) if zone.isdecimal() else socket.if_nametoindex(zone)


def is_loopback(host: str) -> bool:
    """Whether the canonical address is a loopback address."""
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback


def is_unspecified(host: str) -> bool:
    """Whether the canonical address is 0.0.0.0 or ``::``, "any"."""
    return ipaddress.ip_address(host.partition("%")[0]).is_unspecified


def text(host: str, port: int) -> str:
    """``host:port``, with IPv6 addresses in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
