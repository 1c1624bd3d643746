"""Socket options that decide which local port and address a connection gets.

Python 3.11 has none of these constants. All are asked of the socket itself, so they hold in every
network namespace.
"""

from __future__ import annotations

import socket
import struct
from typing import Final

IP_FREEBIND: Final = 15
IP_BIND_ADDRESS_NO_PORT: Final = 24
IP_LOCAL_PORT_RANGE: Final = 51
"""Linux kernel commit 91d0b78c5177 ("inet: Add IP_LOCAL_PORT_RANGE socket option")."""
IPV6_FREEBIND: Final = 78

RESET_LINGER: Final = struct.pack("ii", 1, 0)
"""The ``SO_LINGER`` value that makes close() send a reset: on, for 0 seconds."""


def packed_range(low: int, high: int) -> int:
    """Return the value of ``IP_LOCAL_PORT_RANGE`` for the ports ``low`` to ``high``, both included.

    The kernel takes a u32, ``high << 16 | low``; ``setsockopt`` takes a signed int, so ports from
    32768 on give a negative number with the same bits. The ports are not checked.
    """
    value = high << 16 | low
    return value - (1 << 32) if high >> 15 else value


def one_port(port: int) -> int:
    """Return the value of ``IP_LOCAL_PORT_RANGE`` that leaves connect() exactly this port."""
    return port * 0x10001 - (1 << 32 if port >> 15 else 0)


def set_port_range(sock: socket.socket, low: int, high: int) -> None:
    """Let connect() and bind(port 0) of a socket choose only from ``low`` to ``high``, included.

    It works on IPv6 sockets too. A bound of 0 is the system's own. A bound outside the system's
    local port range is **ignored by the kernel without an error**: read getsockname() after
    connect().

    Raises ``ValueError`` if ``low`` or ``high`` is no port or ``low`` is above ``high``;
    ``OSError`` with ``ENOPROTOOPT`` on kernels without the option.
    """
    for name, port in (("low", low), ("high", high)):
        if not 0 <= port <= 65535:
            raise ValueError(f"{name}: {port} is no port: use 1 to 65535, or 0 for the system's own")
    if high and low > high:
        raise ValueError(f"low: {low} is above high = {high}")
    sock.setsockopt(socket.SOL_IP, IP_LOCAL_PORT_RANGE, packed_range(low, high))


def set_bind_address_no_port(sock: socket.socket) -> None:
    """Make bind((address, 0)) fix the address only: connect() still chooses the port.

    Raises ``OSError`` with ``ENOPROTOOPT`` on kernels without the option.
    """
    sock.setsockopt(socket.SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1)


def set_freebind(sock: socket.socket) -> None:
    """Let bind() take an address that no interface has: a prefix routed here, or one to come."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    else:
        sock.setsockopt(socket.SOL_IP, IP_FREEBIND, 1)


def reset_on_close(sock: socket.socket) -> None:
    """Make close() send a reset and drop what is unsent: no TIME_WAIT stays on either side."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_LINGER)
