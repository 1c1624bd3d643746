"""io_uring: queues of requests and of completions that a thread shares with the kernel.

Only what load's loops need. One thread asks and reaps (SINGLE_ISSUER, 97bbdc06a444 ("io_uring: add
IORING_SETUP_SINGLE_ISSUER")), and completions are posted while it is inside `enter` and never else (DEFER_TASKRUN,
c0e0d6ba25f1 ("io_uring: add IORING_SETUP_DEFER_TASKRUN")), so the two queues need no memory barriers. Sockets stand in
a table of the ring's own instead of that of open files.

`enter` is the one call of a hot loop: ``curing.pxd`` has it for compiled modules, as ``clibc.pxd`` has the calls of
``libc.py``.
"""

from __future__ import annotations

import ctypes
import errno
import struct
import sys
from dataclasses import dataclass
from typing import Final

from fourtuple.errors import Unsupported

from .limits import file_limit

# One number on every architecture (alpha aside).
_SETUP: Final = 425
_ENTER: Final = 426
_REGISTER: Final = 427

_CQSIZE: Final = 1 << 3
_R_DISABLED: Final = 1 << 6
_SUBMIT_ALL: Final = 1 << 7
_SINGLE_ISSUER: Final = 1 << 12
_DEFER_TASKRUN: Final = 1 << 13

_ENABLE_RINGS: Final = 12
_FILES2: Final = 13
_RING_FDS: Final = 20
_SPARSE: Final = 1

_GETEVENTS: Final = 1 << 0
_EXT_ARG: Final = 1 << 3
_REGISTERED_RING: Final = 1 << 4

# struct io_uring_params: entries, flags and features, then where things lie for requests and for completions.
_PARAMETERS: Final = struct.Struct("=10I 8IQ 8IQ")
_REQUESTS_OFFSET: Final = 0x10000000
_REQUEST_SIZE: Final = 64
_COMPLETION_SIZE: Final = 16
_MOST_FILES: Final = 1 << 20

_libc: Final = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


class _Wait(ctypes.Structure):
    # struct io_uring_getevents_arg
    _fields_ = (
        ("signals", ctypes.c_uint64),
        ("signals_size", ctypes.c_uint32),
        ("least", ctypes.c_uint32),
        ("time", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True)
class Queues:
    """The queues of a ring, ``fd``, until `close_queues`.

    ``words`` are the 32-bit words in which both sides count: those numbered ``request_head``, ``request_tail``,
    ``completion_head`` and ``completion_tail``. ``requests`` are 8 64-bit words for each of ``capacity``, and
    ``completions`` 2 for each of ``completion_capacity``, both powers of 2. ``maps``: address and size in bytes.
    """

    fd: int
    capacity: int
    completion_capacity: int
    words: ctypes.Array[ctypes.c_uint32]
    requests: ctypes.Array[ctypes.c_uint64]
    completions: ctypes.Array[ctypes.c_uint64]
    request_head: int
    request_tail: int
    completion_head: int
    completion_tail: int
    maps: tuple[tuple[int, int], tuple[int, int]]


def table_size() -> int:
    """The most sockets that a ring's table may have: as many as the process may open files, and a million at most."""
    return min(file_limit()[0], _MOST_FILES)


def open_queues(requests: int, completions: int, files: int) -> Queues:
    """Queues for as many requests and completions at once, and an empty table of ``files`` sockets.

    They wait for `enable`. Raises ``ValueError`` if ``files`` is more than `table_size` and ``Unsupported`` where the
    kernel has no such rings or forbids them.
    """
    if not 1 <= files <= table_size():
        raise ValueError(
            f"files: a ring's table holds 1 to {table_size()} sockets, not {files}; its bound is the limit of open "
            "files (ulimit -n)"
        )
    if sys.byteorder != "little":
        raise Unsupported(errno.ENOSYS, "io_uring", "its requests are written for little-endian machines; use epoll")
    # SUBMIT_ALL: a request that fails at once does not keep back those behind it.
    flags = _CQSIZE | _R_DISABLED | _SUBMIT_ALL | _SINGLE_ISSUER | _DEFER_TASKRUN
    parameters = ctypes.create_string_buffer(_PARAMETERS.pack(0, completions, flags, *[0] * 25), _PARAMETERS.size)
    fd = _call(_SETUP, requests, parameters)
    if fd < 0:
        raise _unsupported(-fd)
    values = _PARAMETERS.unpack(parameters.raw)
    capacity, completion_capacity = values[:2]
    request_head, request_tail, _, _, _, _, order, _, _ = values[10:19]
    completion_head, completion_tail, _, _, _, place, _, _, _ = values[19:28]
    size = max(order + 4 * capacity, place + _COMPLETION_SIZE * completion_capacity)
    shared = (_map(fd, 0, size), size)
    queue = (_map(fd, _REQUESTS_OFFSET, _REQUEST_SIZE * capacity), _REQUEST_SIZE * capacity)
    words = (ctypes.c_uint32 * (size // 4)).from_address(shared[0])
    # The kernel takes requests in the order of this list of places, which is theirs.
    words[order // 4 : order // 4 + capacity] = range(capacity)
    queues = Queues(
        fd=fd,
        capacity=capacity,
        completion_capacity=completion_capacity,
        words=words,
        requests=(ctypes.c_uint64 * (8 * capacity)).from_address(queue[0]),
        completions=(ctypes.c_uint64 * (2 * completion_capacity)).from_address(shared[0] + place),
        request_head=request_head // 4,
        request_tail=request_tail // 4,
        completion_head=completion_head // 4,
        completion_tail=completion_tail // 4,
        maps=(shared, queue),
    )
    table = struct.pack("=IIQQQ", files, _SPARSE, 0, 0, 0)
    code = _call(_REGISTER, fd, _FILES2, table, len(table))
    if code < 0:
        close_queues(queues)
        raise _unsupported(-code)
    return queues


def close_queues(queues: Queues) -> None:
    """Give the queues back; what is under way is cancelled, and the sockets of the table are closed."""
    for address, size in queues.maps:
        _libc.munmap(address, size)
    _libc.close(queues.fd)


def enable(queues: Queues) -> int:
    """Let the calling thread use the queues, and no other; the number by which it has to `enter` them.

    That number spares each call a look into the table of open files (e7a6c00dc77a ("io_uring: add support for
    registering ring file descriptors")). Raises ``Unsupported`` where the kernel refuses.
    """
    code = _call(_REGISTER, queues.fd, _ENABLE_RINGS, None, 0)
    if code < 0:
        raise _unsupported(-code)
    update = ctypes.create_string_buffer(struct.pack("=IIQ", 0xFFFFFFFF, 0, queues.fd), 16)
    code = _call(_REGISTER, queues.fd, _RING_FDS, update, 1)
    if code < 0:
        raise _unsupported(-code)
    return int.from_bytes(update.raw[:4], sys.byteorder)


def enter(number: int, requests: int, completions: int, timeout: int) -> int:
    """Hand over as many requests, and wait for as many completions or for ``timeout`` nanoseconds; -errno if it fails.

    ``number`` is from `enable`. How many requests the kernel took, it says in the queue.
    """
    time = _Time(timeout // 1_000_000_000, timeout % 1_000_000_000)
    wait = _Wait(0, 0, 0, ctypes.addressof(time))
    flags = _GETEVENTS | _EXT_ARG | _REGISTERED_RING
    return _call(_ENTER, number, requests, completions, flags, ctypes.byref(wait), ctypes.c_size_t(ctypes.sizeof(wait)))


def _call(*arguments: object) -> int:
    value = _libc.syscall(*arguments)
    return -ctypes.get_errno() if value < 0 else value


def _map(fd: int, offset: int, size: int) -> int:
    # PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE
    address = _libc.mmap(None, size, 1 | 2, 0x1 | 0x8000, fd, offset)
    if address == ctypes.c_void_p(-1).value:
        code = ctypes.get_errno()
        _libc.close(fd)
        raise OSError(code, f"mmap: no {size} bytes of an io_uring's queues")
    return address


def _unsupported(code: int) -> Unsupported:
    remedies = {
        errno.EPERM: "allow it (sysctl kernel.io_uring_disabled=0, and the container's seccomp profile) or use epoll",
        errno.ENOMEM: "raise the limit of locked memory (ulimit -l) or use epoll",
    }
    return Unsupported(code, "io_uring with deferred task work (Linux 6.1)", remedies.get(code, "use epoll"))
