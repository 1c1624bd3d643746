"""When transactions are meant to start, whatever the server does: the schedule of an open loop.

A closed loop starts a transaction when the one before has ended, so a server that stalls also stops being asked, and
the stall shows as one slow transaction (coordinated omission). Here the times are fixed beforehand, and a latency
counts from the intended start. The schedule holds no list: the next time is computed from the one before, so that it
can lag by any number of transactions and still take no memory.
"""

from __future__ import annotations

import math

from fourtuple.linux import libc

_MASK = 0xFFFFFFFFFFFFFFFF
_SCALE = 1.0 / (1 << 53)  # a 53-bit integer to a number from 0 to below 1
_NEVER = 4e18  # nanoseconds: 126 years, which leaves room for the clock in 63 bits


class Arrivals:
    """Intended starts, in nanoseconds, at ``rate`` a second on average: ``next`` is the first that is still to come.

    Evenly spaced, or with ``poisson`` at random gaps of exponential length, as independent users come. ``phase`` is the
    fraction (0 to 1) of a gap until the first arrival, with which several threads that share a rate take turns.
    ``seed`` makes the random gaps the same again. The schedule begins at 0, or when ``begin`` says.

    Raises ValueError that names the argument.
    """

    def __init__(self, rate: float, *, phase: float = 0.0, poisson: bool = False, seed: int = 1) -> None:
        if not 0 < rate <= 1e9:
            raise ValueError(f"rate must be above 0 and at most 1e9 a second, not {rate}")
        if not 0 <= phase <= 1:
            raise ValueError(f"phase must be 0 to 1, not {phase}")
        self._gap = min(1e9 / rate, _NEVER)
        self._poisson = poisson
        # Xorshift has one state that it never leaves.
        self._state = (seed * 0x9E3779B97F4A7C15 + 1) & _MASK or 1
        self._begin = 0
        self._offset = min(phase * self._gap, _NEVER)
        self.passed = 0
        self.next = libc.whole(self._offset)

    def begin(self, moment: int) -> None:
        """Move the whole schedule to begin at that reading of the clock."""
        self._begin = moment
        self.next = moment + libc.whole(self._offset)

    def advance(self) -> None:
        """Go on to the arrival after ``next``; ``passed`` counts how often."""
        self.passed += 1
        # Summed as a fraction of nanoseconds: rounded gaps would drift.
        gap = -math.log(1.0 - self._uniform()) * self._gap if self._poisson else self._gap
        self._offset = min(self._offset + gap, _NEVER)
        self.next = self._begin + libc.whole(self._offset)

    def _uniform(self) -> float:
        # xorshift64 (Marsaglia 2003).
        state = self._state
        state ^= (state << 13) & _MASK
        state ^= state >> 7
        state ^= (state << 17) & _MASK
        self._state = state
        return (state >> 11) * _SCALE
