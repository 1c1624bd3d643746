"""System calls that the standard library of every supported Python lacks.

``os.unshare`` and ``os.setns`` came with Python 3.12; the C library has had both all along.
seccomp(2), bpf(2) and pidfd_getfd(2) have no C library wrapper that can be relied on, so they go by
number.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from typing import Final, NamedTuple

from fourtuple.errors import Unsupported

CLONE_NEWUSER: Final = 0x10000000
CLONE_NEWNET: Final = 0x40000000

_libc: Final = ctypes.CDLL(None, use_errno=True)


class _Numbers(NamedTuple):
    seccomp: int
    bpf: int


# pidfd_getfd is younger than the rule that new calls get one number on every architecture (alpha
# aside).
_PIDFD_GETFD: Final = 438
# As in each architecture's system call table, for 64-bit processes.
_GENERIC: Final = _Numbers(seccomp=277, bpf=280)
_NUMBERS: Final = {
    "x86_64": _Numbers(seccomp=317, bpf=321),
    "aarch64": _GENERIC,
    "riscv64": _GENERIC,
    "loongarch64": _GENERIC,
    "ppc64le": _Numbers(seccomp=358, bpf=361),
    "s390x": _Numbers(seccomp=348, bpf=351),
}


def unshare(flags: int) -> None:
    """Move the calling thread into new namespaces of the kinds in ``flags`` (unshare(2)).

    Raises ``OSError`` with the kernel's errno.
    """
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd: int, kind: int) -> None:
    """Move the calling thread into the namespace behind ``fd``, of ``kind`` (setns(2)).

    Raises ``OSError`` with the kernel's errno.
    """
    _checked(_libc.setns(ctypes.c_int(fd), ctypes.c_int(kind)), "setns")


def seccomp(operation: int, flags: int, argument: ctypes.Structure | ctypes.c_uint32) -> int:
    """Call seccomp(2) with a pointer to ``argument``.

    Raises ``OSError`` with the kernel's errno, ``Unsupported`` where the call's number is not
    known.
    """
    return _syscall(_numbers().seccomp, "seccomp", operation, flags, ctypes.byref(argument))


def bpf(command: int, attributes: bytes) -> int:
    """Call bpf(2) with its attributes as bytes; the result is often a file descriptor.

    Raises ``OSError`` with the kernel's errno, ``Unsupported`` where the call's number is not
    known.
    """
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    return _syscall(_numbers().bpf, "bpf", command, buffer, len(attributes))


def pidfd_getfd(pidfd: int, fd: int) -> int:
    """Duplicate descriptor ``fd`` of the process behind ``pidfd`` into this one (pidfd_getfd(2)).

    Both descriptors share one open file description, so options set on one are set on the other.
    Raises ``OSError`` with the kernel's errno.
    """
    return _syscall(_PIDFD_GETFD, "pidfd_getfd", pidfd, fd, 0)


def _numbers() -> _Numbers:
    machine = platform.machine()
    numbers = _NUMBERS.get(machine)
    if numbers is None or sys.maxsize < 1 << 32:
        raise Unsupported(
            errno.ENOSYS,
            f"seccomp(2) and bpf(2) by number on {machine}",
            f"use one of {', '.join(sorted(_NUMBERS))} with a 64-bit Python",
        )
    return numbers


def _syscall(number: int, name: str, *arguments: object) -> int:
    # Plain integers would be passed as C ints; the kernel reads whole registers.
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *words), name)


def _checked(result: int, name: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result
