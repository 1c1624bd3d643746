"""The port spaces of a workload, for threads that take ports without the interpreter.

A *lane* is one (source, destination) pair and has a port space of its own. ``PortSpace`` must not be entered by two
threads at once; here a lock of each lane sees to it. Lanes form a chain, since C code can hold objects by their fields
but not in lists; there are as many as ``--num-ports`` times source addresses, mostly one.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import cython  # pyright: ignore[reportMissingTypeStubs]

if TYPE_CHECKING:
    from fourtuple.ports.space import PortSpace


class Lane:
    """The first lane of a chain: number 0; ``after`` begins with number 1."""

    def __init__(self, space: PortSpace, after: Lane | None) -> None:
        self.space = space
        # Never asked for more lanes than there are.
        self.after = cast("Lane", after)
        if not cython.compiled:
            self._lock = threading.Lock()

    def take(self, lane: int, now: float) -> int:
        """``PortSpace.take`` of the lane of that number."""
        if lane > 0:
            return self.after.take(lane - 1, now)
        with self._lock:
            return self.space.take(now)

    def release(self, lane: int, port: int, how: int, now: float) -> None:
        """``PortSpace.release`` of the lane of that number."""
        if lane > 0:
            self.after.release(lane - 1, port, how, now)
            return
        with self._lock:
            self.space.release(port, how, now)

    def reject(self, lane: int, port: int, reason: int, now: float) -> None:
        """``PortSpace.reject`` of the lane of that number."""
        if lane > 0:
            self.after.reject(lane - 1, port, reason, now)
            return
        with self._lock:
            self.space.reject(port, reason, now)

    def adopt(self, lane: int, port: int) -> bool:
        """``PortSpace.adopt`` of the lane of that number."""
        if lane > 0:
            return self.after.adopt(lane - 1, port)
        with self._lock:
            return self.space.adopt(port)
