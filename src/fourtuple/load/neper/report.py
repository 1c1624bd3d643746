"""The output as neper has it, line by line; what neper does not print follows after its last line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from .failures import by_kind
from .options import Tcp, dump
from .outcome import NEEDED, Outcome
from .program import Figures, Line, Program

if TYPE_CHECKING:
    from fourtuple.load.engine.histogram import Histogram

_NANO = 1e-9
_PARTS = ("connect", "request", "close")


def opening(program: Program[Tcp]) -> Iterator[Line]:
    """Before any socket is opened: the options in effect, and how long the run is to be."""
    plan = program.plan
    yield from dump(program.options)
    if plan.seconds:
        yield "total_run_time", str(plan.seconds)
    else:
        yield "total_transactions", str(plan.things)


def cpus(numbers: list[int]) -> Iterator[Line]:
    """The CPUs that --pin-cpu has to choose from, as ranges."""
    yield "allowed_core_num", str(len(numbers))
    yield "allowed_cores", ",".join(_ranges(numbers))


def results(program: Program[Tcp], outcome: Outcome) -> Iterator[Line]:
    """From the end of the run to the end of the control connection."""
    yield "invalid_secret_count", str(outcome.invalid_secrets)
    yield "time_start", clock(outcome.start)
    start, end = asdict(outcome.usage_start), asdict(outcome.usage_end)
    for key in start:
        for edge, values in (("start", start), ("end", end)):
            yield f"{key}_{edge}", f"{values[key]:.6f}" if key in ("utime", "stime") else str(values[key])
    if program.reports:
        yield from _statistics(program, outcome.figures)


def _statistics(program: Program[Tcp], figures: Figures) -> Iterator[Line]:
    yield from program.statistics(figures)
    trend = figures.trend
    yield "num_samples", str(trend.samples)
    if trend.samples < NEEDED:
        return
    yield "time_end", clock(trend.end)
    yield "correlation_coefficient", f"{trend.correlation:.2f}"
    yield from program.throughput(figures)


def closing(program: Program[Tcp], outcome: Outcome) -> Iterator[Line]:
    """After the control connection: both throughputs, and then what is ours."""
    yield from program.epilogue(outcome.figures)
    yield "local_throughput", str(outcome.local_rate)
    if outcome.remote_rate is not None:
        yield "remote_throughput", str(outcome.remote_rate)
    yield from extras(outcome)


def extras(outcome: Outcome) -> Iterator[Line]:
    """What neper does not tell: failures by kind, states, other counts, and the parts of the latency in seconds."""
    counters = outcome.figures.counters
    numbers = {f"failed_{kind}": count for kind, count in by_kind(counters.failures).items()}
    numbers.update(outcome.levels)
    numbers.update(counters.numbers)
    if outcome.drops is not None:
        numbers |= {"listen_overflows": outcome.drops.overflows, "listen_drops": outcome.drops.drops}
    for key, value in numbers.items():
        yield key, str(value)
    for name in _PARTS:
        if name in counters.histograms:
            yield from _part(name, counters.histograms[name])


def _part(name: str, histogram: Histogram) -> Iterator[Line]:
    nothing = histogram.count == 0
    for key, value in (
        ("min", float("nan") if nothing else histogram.least),
        ("mean", histogram.mean),
        ("p50", histogram.percentile(50)),
        ("p99", histogram.percentile(99)),
        ("max", float("nan") if nothing else histogram.greatest),
    ):
        yield f"{name}_{key}", f"{value * _NANO:.9f}"


def clock(moment: int) -> str:
    """A moment in nanoseconds as seconds with nine decimals."""
    return f"{moment // 10**9}.{moment % 10**9:09}"


def _ranges(numbers: list[int]) -> Iterator[str]:
    # 0,1,2,5 as 0-2 and 5.
    start = 0
    for place, number in enumerate(numbers):
        if place + 1 == len(numbers) or numbers[place + 1] != number + 1:
            yield str(number) if start == place else f"{numbers[start]}-{number}"
            start = place + 1
