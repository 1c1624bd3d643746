"""Memory that several processes share: each writes the cells of its own row, and whoever started them reads all.

There is one writer to a row, so a reader needs no lock, and what a process counted outlives it however it ends.
"""

from __future__ import annotations

import mmap
import os

from .cells import CELLS, Cells


class Board:
    """Rows of zeros, in memory behind the descriptor ``fd``, to which other processes attach."""

    def __init__(self, rows: int) -> None:
        self.fd = os.memfd_create("fourtuple-stress")
        os.ftruncate(self.fd, 8 * CELLS * rows)
        self.rows = [attach(self.fd, number) for number in range(rows)]

    def close(self) -> None:
        """Close the descriptor. The rows stay readable."""
        os.close(self.fd)


def attach(fd: int, number: int) -> Cells:
    """The row of that number of the board behind ``fd``."""
    return memoryview(mmap.mmap(fd, 0)).cast("q")[number * CELLS : (number + 1) * CELLS]
