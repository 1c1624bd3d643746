"""The socket options that a workload sets on each of its sockets, as C code can set them."""

from __future__ import annotations

import struct
from array import array
from typing import TYPE_CHECKING, TypeAlias

from fourtuple.linux import libc

if TYPE_CHECKING:
    from collections.abc import Sequence

Option: TypeAlias = "tuple[int, int, int | bytes]"
"""(level, name, value) of setsockopt()."""


class SocketOptions:
    """Options in the order in which they are set."""

    def __init__(self, options: Sequence[Option]) -> None:
        values = [struct.pack("i", value) if isinstance(value, int) else value for _, _, value in options]
        self._count = len(values)
        self._level = array("i", [level for level, _, _ in options])
        self._name = array("i", [name for _, name, _ in options])
        self._size = array("i", map(len, values))
        self._values = b"".join(values)

    def apply(self, fd: int) -> int:
        """Set all; 0, or -errno of the first that the kernel refuses."""
        start = 0
        for place in range(self._count):
            size = self._size[place]
            code = libc.set_option(fd, self._level[place], self._name[place], self._values, start, size)
            if code < 0:
                return code
            start += size
        return 0
