"""A comparison: a row for each metric, with its change, its certainty and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum

from .side import Material


class Direction(Enum):
    """Which way of a metric is good."""

    MORE = "more"
    LESS = "less"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    """What a row says. Better, worse, higher and lower need both significance and a change above the threshold."""

    BETTER = "better"
    WORSE = "worse"
    HIGHER = "higher"
    """Changed, where no direction is known to be good."""
    LOWER = "lower"
    SAME = "same within the noise"
    TOO_FEW = "too few runs"
    ONLY_A = "only in A"
    ONLY_B = "only in B"
    REPORTED = "as reported"
    """From a report without values: no test is possible."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A metric on one side, in the metric's own unit; NaN where unknown.

    ``low`` and ``high`` bound the 95 % interval of the median, NaN below 6 values. ``stddev`` is the population's, as
    the robot has it. ``percent_stddev``: what a report printed, else None. ``n``: values, 0 where it does not tell.
    """

    median: float
    low: float
    high: float
    mean: float
    stddev: float
    n: int
    percent_stddev: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric compared.

    ``change``, ``low`` and ``high`` (95 %), ``noise`` (the smallest change that these runs can tell from none): a
    fraction of A's median, or where ``absolute`` a difference in the metric's unit. ``mean_change`` is the robot's: in
    per cent of A's mean, or the difference of the means. ``p``: of no change at all; ``q``: p after the control of
    false discoveries over the table. ``runs_needed``: runs a side that would settle an open row, None for one that is
    settled or that no number of runs settles.
    """

    metric: str
    a: Estimate | None
    b: Estimate | None
    absolute: bool
    change: float
    low: float
    high: float
    mean_change: float
    p: float
    q: float
    noise: float
    runs_needed: int | None
    direction: Direction
    headline: bool
    """Whether it is a figure of the workload itself, not of a monitor."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class FailureRow:
    """In how many runs of either side a failure showed."""

    failure: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows: the workload's figures, then monitors. ``warnings`` say in sentences what weakens it."""

    material: Material
    rows: tuple[Row, ...]
    failures: tuple[FailureRow, ...]
    warnings: tuple[str, ...]
