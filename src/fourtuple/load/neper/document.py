"""A run as one JSON object, with the unit in the name of each figure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fourtuple.load.engine.histogram import ERROR

from .failures import by_kind
from .options import NEPER_VERSION, Tcp, flags
from .outcome import Outcome
from .program import Program
from .recorder import Row

if TYPE_CHECKING:
    from fourtuple.load.engine.histogram import Histogram

_PERCENTILES = (50.0, 90.0, 99.0, 99.9)


def document(program: Program[Tcp], outcome: Outcome, machine: Mapping[str, Any]) -> dict[str, Any]:
    """Everything there is to tell; ``machine`` describes where it was measured.

    Figures that there are not, such as a latency without transactions, are None.
    """
    options = program.options
    figures = outcome.figures
    counters = figures.counters
    percentiles = sorted({*_PERCENTILES, *program.percentiles})
    return {
        "program": program.name,
        "role": "client" if options.client else "server",
        "neper_version": NEPER_VERSION,
        "machine": dict(machine),
        "settings": {name: getattr(options, name) for name, _, _ in flags(options)},
        "start_monotonic_s": _seconds(outcome.start),
        "measured_s": _seconds(figures.trend.end - figures.trend.start),
        program.things: counters.things,
        f"throughput_{program.things}_per_s": _finite(figures.trend.throughput),
        "correlation": _finite(figures.trend.correlation),
        "samples": figures.trend.samples,
        "local_rate": outcome.local_rate,
        "remote_rate": outcome.remote_rate,
        "invalid_secrets": outcome.invalid_secrets,
        "failures": by_kind(counters.failures),
        "failures_by_errno": dict(sorted(counters.failures.items())),
        **outcome.levels,
        **counters.numbers,
        "listeners": None if outcome.drops is None else outcome.drops._asdict(),
        "usage_start": _usage(asdict(outcome.usage_start)),
        "usage_end": _usage(asdict(outcome.usage_end)),
        "durations": {name: _durations(histogram, percentiles) for name, histogram in counters.histograms.items()},
        "interval_s": outcome.interval,
        "intervals": [_interval(program.things, row) for row in outcome.rows],
        "trouble": outcome.trouble or None,
        "signal": outcome.signal,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _seconds(nanoseconds: float) -> float | None:
    # Without the digits that only the conversion makes.
    return round(nanoseconds * 1e-9, 9) if math.isfinite(nanoseconds) else None


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    units = {"utime": "utime_s", "stime": "stime_s", "maxrss": "maxrss_kib"}
    return {units.get(name, name): value for name, value in usage.items()}


def _durations(histogram: Histogram, percentiles: list[float]) -> dict[str, Any]:
    nothing = histogram.count == 0
    return {
        "count": histogram.count,
        "min_s": None if nothing else _seconds(histogram.least),
        "mean_s": _seconds(histogram.mean),
        "max_s": None if nothing else _seconds(histogram.greatest),
        "stddev_s": _seconds(histogram.stddev),
        "percentiles_s": {f"{percent:g}": _seconds(histogram.percentile(percent)) for percent in percentiles},
        "percentile_error": ERROR,
        "histogram": [{"up_to_ns": end, "count": count} for end, count in histogram.buckets()],
    }


def _interval(things: str, row: Row) -> dict[str, Any]:
    return {
        "start_s": row.start,
        "length_s": row.seconds,
        things: row.things,
        f"{things}_per_s": row.rate,
        "p50_s": None if row.p50 is None else _seconds(row.p50),
        "p99_s": None if row.p99 is None else _seconds(row.p99),
        "failures": row.failures,
    }
