"""The table of a run."""

from __future__ import annotations

from rich import box
from rich.table import Table

from fourtuple.bench.demo.report import Run, microseconds, own_cost, times
from fourtuple.bench.demo.timing import Timing


def table(run: Run) -> Table:
    """Return a row for each level: connections, free ports, both ways in µs, and two ratios.

    The ratios are of the means: the kernel's to fourtuple's, and fourtuple's to its own at the
    lowest level.
    """
    result = Table(
        box=box.SIMPLE_HEAD,
        padding=0,
        title=f"{run.arena.family.value}: connect() in µs",
        title_justify="left",
    )
    for heading in ("in use", "held", "free"):
        result.add_column(heading, justify="right")
    for way, style in (("kernel", "red"), ("fourtuple", "cyan")):
        result.add_column(f"{way}\nmean", justify="right", style=style, no_wrap=True)
        result.add_column("\np50", justify="right", style=style)
        result.add_column("\np99", justify="right", style=style)
    result.add_column("kernel /\nfourtuple", justify="right", style="bold")
    result.add_column(f"to its\nown {run.measured[0].level}", justify="right")
    for row in run.measured:
        result.add_row(
            str(row.level),
            f"{row.level.held:,}",
            f"{row.free:,}",
            *_cells(row.kernel),
            *_cells(row.fourtuple),
            times(row.ratio),
            times(own_cost(run, row)),
        )
    return result


def _cells(timing: Timing) -> tuple[str, str, str]:
    return microseconds(timing.mean), microseconds(timing.p50), microseconds(timing.p99)
