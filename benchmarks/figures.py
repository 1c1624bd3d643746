"""The figures taken from several repetitions, each as a median and a spread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repetition import Both, Repetition

from fourtuple.bench.demo.levels import Level
from fourtuple.bench.demo.report import own_cost
from fourtuple.bench.demo.timing import Spread, spread


@dataclass(frozen=True)
class Row:
    """A level: means in µs, kernel's to fourtuple's, and fourtuple's to its own at the first."""

    level: Level
    free: int
    kernel: Spread
    fourtuple: Spread
    ratio: Spread
    own_cost: Spread


@dataclass(frozen=True)
class Compared:
    """A figure without fourtuple and with it; ``result`` compares the two of each repetition."""

    without: Spread
    fourtuple: Spread
    result: Spread


def rows(done: Sequence[Repetition]) -> list[Row]:
    """Return the levels, lowest first."""
    return [
        Row(
            level=same[0].level,
            free=same[0].free,
            kernel=spread([m.kernel.mean for m in same]),
            fourtuple=spread([m.fourtuple.mean for m in same]),
            ratio=spread([m.ratio for m in same]),
            own_cost=spread([own_cost(one.run, m) for one, m in zip(done, same, strict=True)]),
        )
        for same in zip(*(one.run.measured for one in done), strict=True)
    ]


def overhead(done: Sequence[Repetition]) -> dict[str, Compared]:
    """Return µs at 5 %, compared by difference."""
    return _compared([one.overhead for one in done], lambda b: b.fourtuple - b.without)


def rates(done: Sequence[Repetition]) -> dict[str, Compared]:
    """Return connections per second at 95 %, compared by ratio."""
    return _compared([one.rates for one in done], lambda b: b.fourtuple / b.without)


def in_blocks(done: Sequence[Repetition]) -> Spread:
    """Return the µs of a connection more at the first level, by the medians of each way's blocks."""
    return spread([one.run.measured[0].fourtuple.p50 - one.run.measured[0].kernel.p50 for one in done])


def refused(done: Sequence[Repetition]) -> tuple[Spread, Spread]:
    """Return the ms until PortsExhausted at 100 %: the median of the attempts, and the longest."""
    return spread([one.refused[0] for one in done]), spread([one.refused[1] for one in done])


def _compared(repetitions: Sequence[dict[str, Both]], compare: Callable[[Both], float]) -> dict[str, Compared]:
    return {
        name: Compared(
            spread([one[name].without for one in repetitions]),
            spread([one[name].fourtuple for one in repetitions]),
            spread([compare(one[name]) for one in repetitions]),
        )
        for name in repetitions[0]
    }
