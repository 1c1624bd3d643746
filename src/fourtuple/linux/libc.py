"""The C library for compiled modules, as they call it where they run uncompiled.

``clibc.pxd`` declares the same functions in C. A compiled module imports this module and, in its .pxd, cimports the
other by the same name, so that one source calls whichever there is:

    from fourtuple.linux import libc                # X.py
    cimport fourtuple.linux.clibc as libc           # X.pxd

Results are those of C, and in place of an error its number below 0: ``-errno.EAGAIN``. Times are nanoseconds. Addresses
are the bytes of a ``struct sockaddr``, see `fourtuple.linux.addresses`; buffers are flat arrays of bytes.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import termios
import time
from typing import TYPE_CHECKING, Any

from .sockopt import IP_LOCAL_PORT_RANGE, RESET_LINGER

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)
_EVENT = struct.Struct("=IQ" if os.uname().machine == "x86_64" else "@I4xQ")
# struct epoll_event, which is packed on x86-64 alone.


def _call(function: Callable[..., int], *arguments: Any) -> int:
    value = function(*arguments)
    return -ctypes.get_errno() if value < 0 else value


def now() -> int:
    """The monotonic clock."""
    return time.monotonic_ns()


def pause(nanoseconds: int) -> None:
    """Sleep for so long, or until a signal comes."""
    time.sleep(nanoseconds / 1e9)


def whole(value: float) -> int:
    """The whole part of a number that a 64-bit integer holds."""
    return int(value)


# Sockets.


def open_socket(family: int, type: int, protocol: int) -> int:
    """A new descriptor, closed on exec."""
    return _call(_libc.socket, family, type | socket.SOCK_CLOEXEC, protocol)


def bind(fd: int, addresses: bytes, start: int, size: int) -> int:
    """bind() to the address that begins at ``start`` and takes ``size`` bytes."""
    return _call(_libc.bind, fd, addresses[start : start + size], size)


def connect(fd: int, addresses: bytes, start: int, size: int) -> int:
    """connect() to the address that begins at ``start`` and takes ``size`` bytes."""
    return _call(_libc.connect, fd, addresses[start : start + size], size)


def accept(fd: int, flags: int) -> int:
    """The descriptor of the next connection; ``flags`` are those of accept4(), closed on exec besides."""
    return _call(_libc.accept4, fd, None, None, flags | socket.SOCK_CLOEXEC)


def send(fd: int, data: array[int], start: int, size: int, flags: int) -> int:
    """send() of ``size`` bytes from ``start`` on, never with a SIGPIPE; how many went."""
    return _call(_libc.send, fd, _at(data, start), ctypes.c_size_t(size), flags | socket.MSG_NOSIGNAL)


def receive(fd: int, buffer: array[int], start: int, size: int, flags: int) -> int:
    """recv() of up to ``size`` bytes into the buffer from ``start`` on; how many came, 0 at the end."""
    return _call(_libc.recv, fd, _at(buffer, start), ctypes.c_size_t(size), flags)


def shutdown(fd: int, how: int) -> int:
    """shutdown()."""
    return _call(_libc.shutdown, fd, how)


def close(fd: int) -> int:
    """close()."""
    return _call(_libc.close, fd)


def local_port(fd: int) -> int:
    """The port that an IPv4 or IPv6 socket is bound to, 0 for none."""
    address = ctypes.create_string_buffer(28)
    size = ctypes.c_uint32(len(address))
    error = _call(_libc.getsockname, fd, address, ctypes.byref(size))
    return error or struct.unpack_from("!H", address, 2)[0]


# Options of sockets.


def set_option(fd: int, level: int, name: int, values: bytes, start: int, size: int) -> int:
    """setsockopt() of the ``size`` bytes from ``start`` on."""
    return _set(fd, level, name, values[start : start + size])


def set_number(fd: int, level: int, name: int, value: int) -> int:
    """setsockopt() of an int."""
    return _set(fd, level, name, struct.pack("i", value))


def get_number(fd: int, level: int, name: int) -> int:
    """getsockopt() of an int that is not below 0."""
    error, value = _get(fd, level, name, 4)
    return error or int.from_bytes(value, "little")


def set_one_port(fd: int, port: int) -> int:
    """Narrow the local port range (IP_LOCAL_PORT_RANGE) to one port."""
    return _set(fd, socket.SOL_IP, IP_LOCAL_PORT_RANGE, struct.pack("I", port << 16 | port))


def set_reset_on_close(fd: int) -> int:
    """Make close() send a reset: SO_LINGER on, for 0 seconds."""
    return _set(fd, socket.SOL_SOCKET, socket.SO_LINGER, RESET_LINGER)


def resets_on_close(fd: int) -> int:
    """1 if close() sends a reset in any state (SO_LINGER on, for 0 seconds), 0 if not."""
    error, value = _get(fd, socket.SOL_SOCKET, socket.SO_LINGER, 8)
    return error or int(value == RESET_LINGER)


def tcp_info_head(fd: int) -> int:
    """The state of a TCP socket in the lowest byte, ``tcpi_options`` of ``struct tcp_info`` in the next one."""
    error, head = _get(fd, socket.IPPROTO_TCP, socket.TCP_INFO, 6)
    return error or head[0] | head[5] << 8


def pending_error(fd: int) -> int:
    """SO_ERROR: the number of the error that a socket met, which is thereby told; 0 for none."""
    return get_number(fd, socket.SOL_SOCKET, socket.SO_ERROR)


def unread_bytes(fd: int) -> int:
    """Received bytes that are still to be read (FIONREAD)."""
    unread = ctypes.c_int()
    return _call(_libc.ioctl, fd, termios.FIONREAD, ctypes.byref(unread)) or unread.value


# epoll.


def open_epoll() -> int:
    """A new epoll descriptor, closed on exec."""
    return _call(_libc.epoll_create1, select.EPOLL_CLOEXEC)


def watch(epoll: int, fd: int, events: int, slot: int) -> int:
    """Have `wait` tell of ``events`` of the descriptor, as ``slot``."""
    return _control(epoll, 1, fd, events, slot)


def rewatch(epoll: int, fd: int, events: int, slot: int) -> int:
    """`watch` for a descriptor that is watched already."""
    return _control(epoll, 3, fd, events, slot)


def unwatch(epoll: int, fd: int) -> int:
    """Tell of the descriptor no more. Closing it does the same."""
    return _control(epoll, 2, fd, 0, 0)


def wait(epoll: int, slots: array[int], events: array[int], timeout: int) -> int:
    """Wait until something is ready; how many of ``slots`` and ``events`` tell what: 256 at most, and their length.

    ``timeout`` is 0 to look only and -1 for ever.
    """
    found = ctypes.create_string_buffer(_EVENT.size * min(len(slots), 256))
    # In whole milliseconds here, and never none where there is something to wait for.
    milliseconds = -(-timeout // 1_000_000) if timeout > 0 else timeout
    count = _call(_libc.epoll_wait, epoll, found, len(found) // _EVENT.size, milliseconds)
    for place in range(count):
        events[place], slot = _EVENT.unpack_from(found, place * _EVENT.size)
        # Python's own epoll leaves the upper half undefined.
        slots[place] = slot & 0x7FFFFFFF
    return count


def _control(epoll: int, operation: int, fd: int, events: int, slot: int) -> int:
    return _call(_libc.epoll_ctl, epoll, operation, fd, _EVENT.pack(events, slot))


def _at(data: array[int], start: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(data.buffer_info()[0] + start * data.itemsize)


def _set(fd: int, level: int, name: int, value: bytes) -> int:
    return _call(_libc.setsockopt, fd, level, name, value, len(value))


def _get(fd: int, level: int, name: int, size: int) -> tuple[int, bytes]:
    value = ctypes.create_string_buffer(size)
    length = ctypes.c_uint32(size)
    return _call(_libc.getsockopt, fd, level, name, value, ctypes.byref(length)), value.raw
