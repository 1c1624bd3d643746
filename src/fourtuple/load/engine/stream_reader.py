"""How a stream reads: by copying, by dropping, or by having the kernel's pages mapped. What it reads, it forgets."""

from __future__ import annotations

import socket
from array import array

from fourtuple.linux import libc, streaming


class Reader:
    """Reads up to ``size`` bytes at once, for all flows of a thread into one buffer.

    ``received`` counts bytes, ``reads`` the calls that brought some. ``flags`` are those of recv(): ``MSG_TRUNC``
    has TCP drop the data in place of copying it.
    """

    def __init__(self, size: int, flags: int = 0) -> None:
        if size < 1:
            raise ValueError(f"size must be at least 1 byte, not {size}")
        self.size = size
        self.received = 0
        self.reads = 0
        self._flags = flags
        self._buffer = array("B", bytes(size))

    def read(self, fd: int) -> int:
        """Read once, without waiting: the bytes, 0 at the end of the stream, or -errno."""
        got = libc.receive(fd, self._buffer, 0, self.size, self._flags)
        if got > 0:
            self._count(got)
        return got

    def close(self) -> None:
        """Give back what is not memory of this process."""

    def _count(self, got: int) -> None:
        self.received += got
        self.reads += 1


class MappedReader(Reader):
    """Has the pages that arrived mapped, and copies only what fills no page. ``mapped`` counts the bytes not copied.

    One mapping serves all flows of a thread. Raises ``OSError`` where the kernel has no such thing.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.mapped = 0
        self._result = array("i", [0, 0, 0])
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            self._address = streaming.map_receiver(sock.fileno(), size)
        if self._address < 0:
            raise OSError(-self._address, f"mmap: cannot map {size} bytes of a TCP socket for zero copy receives")

    def read(self, fd: int) -> int:
        """Read once, without waiting: the bytes, 0 at the end of the stream, or -errno."""
        code = streaming.receive_mapped(fd, self._address, self.size, self._buffer, self._result)
        if code < 0:
            return code
        got = self._result[0] + self._result[1]
        self.mapped += self._result[0]
        # So many bytes stand before the next that can be mapped; without any, recv() tells the end from a pause.
        rest = min(self._result[2], self.size) or (self.size if got == 0 else 0)
        if rest:
            code = libc.receive(fd, self._buffer, 0, rest, 0)
            if code > 0:
                got += code
            elif got == 0:
                return code
        self._count(got)
        return got

    def close(self) -> None:
        """Give the mapping back."""
        if self._address >= 0:
            streaming.unmap(self._address, self.size)
            self._address = -1
