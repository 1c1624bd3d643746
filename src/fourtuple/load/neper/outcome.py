"""What a run has yielded, for whoever prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .overflows import ListenDrops
from .program import Figures
from .recorder import Row
from .usage import Usage

NEEDED = 2
"""Samples without which there is no throughput."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that has ended.

    ``start`` is when the figures begin, by the monotonic clock in nanoseconds, 0 if nothing was counted. ``rows`` are
    the intervals. ``drops`` are those of the listeners, for a server. ``trouble`` says what went wrong, "" if nothing
    did, and ``signal`` which signal ended the run. ``remote_rate`` is None if the other side did not tell it.
    """

    invalid_secrets: int
    start: int
    usage_start: Usage
    usage_end: Usage
    figures: Figures
    levels: Mapping[str, int]
    rows: Sequence[Row]
    interval: float
    drops: ListenDrops | None
    trouble: str
    signal: int | None
    local_rate: int
    remote_rate: int | None = None

    @property
    def measured(self) -> bool:
        """Whether there were enough samples for a throughput."""
        return self.figures.trend.samples >= NEEDED
