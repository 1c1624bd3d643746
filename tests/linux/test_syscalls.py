"""System calls by number: errors, and machines whose numbers are not known."""

from __future__ import annotations

import ctypes
import errno
import platform

import pytest

from fourtuple.errors import Unsupported
from fourtuple.linux import syscalls


def test_the_kernels_errno_is_raised() -> None:
    for action in (
        lambda: syscalls.setns(-1, 0),
        lambda: syscalls.pidfd_getfd(-1, 0),
    ):
        with pytest.raises(OSError, match="Bad file descriptor") as raised:
            action()
        assert raised.value.errno == errno.EBADF
    with pytest.raises(OSError, match="unshare: Invalid argument"):
        syscalls.unshare(1)


def test_an_unknown_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "pdp11")
    with pytest.raises(Unsupported, match=r"pdp11.*x86_64"):
        syscalls.seccomp(2, 0, ctypes.c_uint32(0))
    with pytest.raises(Unsupported, match="pdp11"):
        syscalls.bpf(0, bytes(8))
