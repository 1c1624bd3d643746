"""What many operations took, in few figures."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Mean, median and 99th percentile, in microseconds, of ``operations`` operations."""

    operations: int
    mean: float
    p50: float
    p99: float


def timing(nanoseconds: Sequence[int]) -> Timing:
    """Summarise single durations. Percentiles are interpolated between neighbours.

    Raises ``ValueError`` if there are fewer than two.
    """
    if len(nanoseconds) < 2:
        raise ValueError(f"nanoseconds: {len(nanoseconds)} durations have no percentiles")
    cuts = statistics.quantiles(nanoseconds, n=100, method="inclusive")
    return Timing(
        operations=len(nanoseconds),
        mean=statistics.fmean(nanoseconds) / 1000,
        p50=cuts[49] / 1000,
        p99=cuts[98] / 1000,
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of a figure over repetitions, and the least and the greatest of them."""

    median: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    """Summarise one figure over repetitions. Raises ``ValueError`` if there are none."""
    if not values:
        raise ValueError("values: no repetition to summarise")
    return Spread(statistics.median(values), min(values), max(values))
