"""Workers that fail, for processes to make."""

from __future__ import annotations

import errno
import os

from fourtuple.load.stress.cells import Cells
from fourtuple.load.stress.worker import Worker


class Ready(Worker):
    """Is done at once, for its first cell says so."""

    def __init__(self, cells: Cells) -> None:
        super().__init__(cells, 1)
        cells[0] = 1


def refused(cells: Cells) -> Worker:
    """Cannot be made."""
    raise PermissionError(errno.EPERM, "no such luck")


def lost(cells: Cells) -> Worker:
    """Ends its process."""
    os._exit(3)
