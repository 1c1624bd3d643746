"""A loop of system calls that runs without the interpreter and counts where other processes can read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cython  # pyright: ignore[reportMissingTypeStubs]

from . import cells as layout

if TYPE_CHECKING:
    from .cells import Cells

_FIGURES = layout.FIGURES
_ERRNOS = layout.ERRNOS


class Worker:
    """Repeats a step until the first of its ``cells`` has come to ``most``, for ever if that is 0."""

    def __init__(self, cells: Cells, most: int = 0) -> None:
        self._cells = cells
        self._most = most

    def run(self) -> None:
        """Repeat the step, without the interpreter."""
        with cython.nogil:
            self._repeat()

    def step(self) -> None:
        """Do it once, without the interpreter."""
        with cython.nogil:
            self._step()

    def _repeat(self) -> None:
        while self._most == 0 or self._cells[0] < self._most:
            self._step()

    def _step(self) -> None:
        # For subclasses.
        pass

    def _fail(self, operation: int, code: int) -> None:
        # Count a failure: ``code`` is -errno, or 0 for what has no errno.
        if -_ERRNOS < code <= 0:
            self._cells[_FIGURES + operation * _ERRNOS - code] += 1
