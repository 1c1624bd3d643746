"""What the stressors ask of the C library beyond `fourtuple.linux.libc`; ``ccalls.pxd`` is the twin of this module."""

from __future__ import annotations

import ctypes
import time

_libc = ctypes.CDLL(None, use_errno=True)


def get_option(fd: int, level: int, name: int) -> int:
    """getsockopt() of an int, or ``-errno``."""
    value = ctypes.c_int()
    size = ctypes.c_uint32(ctypes.sizeof(value))
    failed = _libc.getsockopt(fd, level, name, ctypes.byref(value), ctypes.byref(size)) < 0
    return -ctypes.get_errno() if failed else value.value


def pause(nanoseconds: int) -> None:
    """Do nothing for so long, less than a second."""
    time.sleep(nanoseconds / 1e9)
