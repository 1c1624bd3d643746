"""What a TCP socket is about to leave behind, read just before it closes.

Cheap enough for every close: one getsockopt() of the first bytes of ``struct tcp_info``, whose layout only ever grew at
its end.
"""

from __future__ import annotations

import fcntl
import socket
import termios
from enum import IntEnum
from typing import Final, NamedTuple

from fourtuple.linux import libc

_TCPI_OPT_TIMESTAMPS: Final = 1


class TcpState(IntEnum):
    """The states of a TCP socket by the kernel's numbers."""

    ESTABLISHED = 1
    SYN_SENT = 2
    SYN_RECV = 3
    FIN_WAIT1 = 4
    FIN_WAIT2 = 5
    TIME_WAIT = 6
    CLOSE = 7
    CLOSE_WAIT = 8
    LAST_ACK = 9
    LISTEN = 10
    CLOSING = 11
    NEW_SYN_RECV = 12
    """A connection request not yet answered in full."""
    BOUND_INACTIVE = 13
    """Bound, neither connected nor listening; only sock_diag shows it."""


_STATES: Final = {int(state): state for state in TcpState}
# Looked up rather than called: an enum's constructor costs more than the system call.


class TcpInfo(NamedTuple):
    """``timestamps``: both sides use them."""

    state: TcpState
    timestamps: bool


def read(sock: socket.socket) -> TcpInfo:
    """Read the state of a TCP socket.

    Raises ``OSError``: ``EBADF`` after close, ``EOPNOTSUPP`` or ``ENOPROTOOPT`` if the socket is
    not TCP.
    """
    head = libc.tcp_info_head(sock.fileno())
    if head < 0:
        sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)
    return TcpInfo(_STATES[head & 0xFF], head >> 8 & _TCPI_OPT_TIMESTAMPS != 0)


def unread_bytes(sock: socket.socket) -> int:
    """Return how many received bytes are unread: if any, close() sends a reset (RFC 2525, 2.17).

    Raises ``ValueError`` after close, and ``OSError`` (``EINVAL``) on a listening socket.
    """
    unread = libc.unread_bytes(sock.fileno())
    if unread < 0:
        fcntl.ioctl(sock, termios.FIONREAD, bytes(4))
    return unread


def resets_on_close(sock: socket.socket) -> bool:
    """Return whether close() sends a reset in any state: ``SO_LINGER`` on, for 0 seconds.

    Raises ``OSError``: ``EBADF`` after close.
    """
    resets = libc.resets_on_close(sock.fileno())
    if resets < 0:
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER)
    return resets == 1
