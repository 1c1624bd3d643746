"""A logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogScale:
    """From ``low`` to ``high``, both above 0 and ``low`` below ``high``."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where a value lies, from 0 (low end) to 1 (high end); beyond, the nearer end."""
        place = math.log(value / self.low) / math.log(self.high / self.low)
        return min(max(place, 0.0), 1.0)

    def ticks(self) -> list[float]:
        """Return the values on it that are 1, 2 or 5 times a power of ten."""
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = [step * 10.0**decade for decade in decades for step in (1, 2, 5)]
        return [value for value in values if self.low <= value <= self.high]


def scale_around(values: Iterable[float], room: float) -> LogScale:
    """Return a scale for ``values`` with a factor of ``room`` left at both ends.

    ``values`` are above 0 and ``room`` is above 1.
    """
    known = list(values)
    return LogScale(min(known) / room, max(known) * room)
