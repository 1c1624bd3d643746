"""What streams ask of the C library beyond `fourtuple.linux.libc`, as they call it where they run uncompiled.

``cstreaming.pxd`` declares the same functions in C; `fourtuple.linux.libc` says how the two go together.

Zero copy sends leave the data in the caller's pages, and tell on the socket's error queue when the kernel needs them no
more (kernel commit 52267790ef52 ("sock: add MSG_ZEROCOPY")). Zero copy receives put the pages of arrived packets into a
mapping (kernel commit 05255b823a61 ("tcp: add TCP_ZEROCOPY_RECEIVE support for zerocopy receive")), which belongs to no
connection: any TCP socket makes one, and any connection may receive into it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from array import array

MSG_ZEROCOPY = 0x4000000
SO_ZEROCOPY = 60
TCP_ZEROCOPY_RECEIVE = 35

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

# struct sock_extended_err: errno, origin, type, code, pad, info, data.
_EXTENDED_ERROR = struct.Struct("=IBBBxII")
_ORIGIN_ZEROCOPY = 5
_CODE_COPIED = 1
_RECVERR = {(socket.SOL_IP, 11), (socket.IPPROTO_IPV6, 25)}
# The head of struct tcp_zerocopy_receive: address, length, recv_skip_hint, inq, err, copybuf_address, copybuf_len,
# flags. Kernels take any length of it.
_RECEIVE = struct.Struct("=QIIIiQiI")


def reap(fd: int, sends: array[int]) -> int:
    """Take one message off the error queue: 1, or 0 if there is none.

    One that tells of zero copy sends adds how many to ``sends``: [0] those without a copy, [1] those that the kernel
    copied after all.
    """
    with socket.socket(fileno=os.dup(fd)) as sock:
        try:
            _, ancillary, _, _ = sock.recvmsg(0, 128, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0
        except OSError as error:
            return -(error.errno or 0)
    for level, kind, data in ancillary:
        if (level, kind) in _RECVERR:
            _, origin, _, code, first, last = _EXTENDED_ERROR.unpack_from(data)
            if origin == _ORIGIN_ZEROCOPY:
                # Numbers of 32 bits, which begin anew.
                sends[code & _CODE_COPIED] += (last - first + 1) & 0xFFFFFFFF
    return 1


def map_receiver(fd: int, size: int) -> int:
    """Reserve ``size`` bytes of address space to receive into, by a TCP socket; the address."""
    address = _libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    return -ctypes.get_errno() if address == ctypes.c_void_p(-1).value else address


def unmap(address: int, size: int) -> int:
    """Give address space back."""
    return -ctypes.get_errno() if _libc.munmap(address, size) < 0 else 0


def receive_mapped(fd: int, address: int, size: int, buffer: array[int], result: array[int]) -> int:
    """Map what has arrived, up to ``size`` bytes, at ``address``, in place of what was mapped there before.

    ``result`` says how much that was, [0], how many bytes after it that fill no page were copied into the buffer, [1],
    and how many are to be had by `libc.receive` alone, [2].
    """
    request = ctypes.create_string_buffer(
        _RECEIVE.pack(address, size, 0, 0, 0, buffer.buffer_info()[0], min(len(buffer), mmap.PAGESIZE - 1), 0),
        _RECEIVE.size,
    )
    length = ctypes.c_uint32(_RECEIVE.size)
    arguments = (request, ctypes.byref(length))
    if _libc.getsockopt(fd, socket.IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, *arguments) < 0:
        return -ctypes.get_errno()
    _, result[0], result[2], _, _, _, copied, _ = _RECEIVE.unpack(request)
    result[1] = max(0, copied)
    return 0
