"""How a stream writes: by copying, or by leaving the data where it is until the kernel has sent it."""

from __future__ import annotations

import errno
import os
from array import array

from fourtuple.linux import libc, streaming

_ENOBUFS = errno.ENOBUFS
_MSG_ZEROCOPY = streaming.MSG_ZEROCOPY


class Writer:
    """Writes ``size`` bytes at once, the same ones for all flows of a thread.

    ``sent`` counts bytes, ``writes`` the calls that took some. ``flags`` are those of send().
    """

    def __init__(self, size: int, flags: int = 0) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1 byte, not {size}")
        self.size = size
        self.sent = 0
        self.writes = 0
        self._flags = flags
        # Nothing on the way can make it smaller.
        self._buffer = array("B", os.urandom(size))

    def write(self, fd: int) -> int:
        """Write once, without waiting: the bytes that went, or -errno."""
        sent = libc.send(fd, self._buffer, 0, self.size, self._flags)
        if sent > 0:
            self._count(sent)
        return sent

    def reap(self, fd: int) -> int:
        """Take what the kernel has to tell of earlier writes; whether there was anything."""
        return 0

    def _count(self, sent: int) -> None:
        self.sent += sent
        self.writes += 1


class ZeroCopyWriter(Writer):
    """Writes with MSG_ZEROCOPY; the sockets need ``SO_ZEROCOPY``.

    ``reports`` counts writes that are over: [0] those without a copy, [1] those that the kernel copied all the same, as
    it does over loopback. Where more writes are under way than the kernel keeps account of (``net.core.optmem_max``),
    it is asked to copy: those count in ``copied_at_once``.
    """

    def __init__(self, size: int, flags: int = 0) -> None:
        super().__init__(size, flags)
        self.copied_at_once = 0
        self.reports = array("Q", [0, 0])

    def write(self, fd: int) -> int:
        """Write once, without waiting: the bytes that went, or -errno."""
        sent = libc.send(fd, self._buffer, 0, self.size, self._flags | _MSG_ZEROCOPY)
        if sent == -_ENOBUFS:
            self.copied_at_once += 1
            return Writer.write(self, fd)
        if sent > 0:
            self._count(sent)
        return sent

    def reap(self, fd: int) -> int:
        """Take what the kernel has to tell of earlier writes; whether there was anything."""
        found = 0
        while streaming.reap(fd, self.reports) > 0:
            found += 1
        return found
