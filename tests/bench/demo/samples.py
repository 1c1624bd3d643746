"""Reports made up for tests."""

from __future__ import annotations

from collections.abc import Sequence

from fourtuple.bench.demo.arena import Arena, Family, Settings
from fourtuple.bench.demo.levels import Ladder, Level, ladder
from fourtuple.bench.demo.pressure import Measured
from fourtuple.bench.demo.report import Report, Run
from fourtuple.bench.demo.timing import Timing
from fourtuple.bench.machine import Machine
from fourtuple.linux.sysctl import PortRange
from fourtuple.load.places import Existing

MACHINE = Machine(kernel="6.18.0", architecture="x86_64", cpu="Example 9000", cpus=4, python="3.12.1")
SETTINGS = Settings(levels=(5.0, 50.0, 95.0), ports=1000, operations=200, block=10)


def measured(level: Level, kernel: float, fourtuple: float, size: int = 1000) -> Measured:
    """A level whose means are given; p50 is half the mean and p99 ten times it."""
    return Measured(
        level,
        size - level.held,
        *(Timing(200, mean, mean / 2, mean * 10) for mean in (kernel, fourtuple)),
    )


def arena(family: Family = Family.IPV6, steps: Ladder | None = None, *, private: bool = True) -> Arena:
    """A range of 1,000 ports from 10000 on, in no place at all."""
    nowhere = Existing(("::1", 9))
    steps = steps or ladder(SETTINGS.levels, 1000, 1000)
    return Arena(family, private, PortRange(10000, 10999), steps, nowhere, nowhere)


def run(
    means: Sequence[tuple[float, float]] = ((16, 20), (300, 21), (600, 24)),
    family: Family = Family.IPV6,
) -> Run:
    """A run with the means of kernel and fourtuple for each level, the lowest first."""
    where = arena(family)
    levels = where.ladder.reached
    return Run(where, tuple(measured(lv, *pair) for lv, pair in zip(levels, means, strict=False)))


def report(*runs: Run) -> Report:
    """A report of the runs, or of one for each family."""
    return Report(MACHINE, SETTINGS, runs or (run(), run(family=Family.IPV4)))
