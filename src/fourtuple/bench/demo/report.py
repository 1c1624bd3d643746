"""The result of a measurement as a whole: where, how, what, and in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fourtuple.bench.demo.arena import SPARE_FILES, Arena, Settings
from fourtuple.bench.demo.levels import Level
from fourtuple.bench.demo.pressure import Measured
from fourtuple.bench.machine import Machine

# The level the headline is about: near the end of the range, where programs still work without us.
_HEADLINE_PERCENT = 95


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured in one arena: all its levels, or fewer if it was interrupted."""

    arena: Arena
    measured: tuple[Measured, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The runs made on a machine with the same settings."""

    machine: Machine
    settings: Settings
    runs: tuple[Run, ...]


def means(runs: Iterable[Run]) -> list[float]:
    """Return every mean of the runs, either way, in microseconds."""
    rows = [row for run in runs for row in run.measured]
    return [row.kernel.mean for row in rows] + [row.fourtuple.mean for row in rows]


def own_cost(run: Run, measured: Measured) -> float:
    """Return how many times fourtuple's mean at the lowest level its mean at this one is."""
    return measured.fourtuple.mean / run.measured[0].fourtuple.mean


def files_needed(level: Level) -> int:
    """Return the limit of open files that a level takes."""
    return level.held + SPARE_FILES


def microseconds(value: float) -> str:
    """Write a duration with about three digits."""
    return f"{value:.1f}" if value < 99.95 else f"{value:,.0f}"


def times(ratio: float) -> str:
    """Write a ratio with about two digits."""
    return f"{ratio:.1f}×" if ratio < 9.95 else f"{ratio:.0f}×"


def headline(report: Report) -> str:
    """Say in a sentence or two what was found; empty if nothing was measured."""
    clauses = [_clause(run) for run in report.runs if run.measured]
    return " ".join(clauses)


def _clause(run: Run) -> str:
    at_level = [m for m in run.measured if m.level.percent == _HEADLINE_PERCENT]
    row = at_level[0] if at_level else run.measured[-1]
    return (
        f"{run.arena.family.value}, {row.level} of the ports in use: connect() takes "
        f"{microseconds(row.kernel.mean)} µs when the kernel chooses the port and "
        f"{microseconds(row.fourtuple.mean)} µs when fourtuple does, {_compared(row.ratio)}."
    )


def _compared(ratio: float) -> str:
    if ratio >= 1.1:
        return f"{times(ratio)} less"
    if ratio <= 1 / 1.1:
        return f"{times(1 / ratio)} more"
    return "about the same"


def notes(report: Report) -> list[str]:
    """Say what was left out or made smaller, and why."""
    found = [_missed(run) for run in report.runs if run.arena.ladder.beyond]
    smaller = {r.arena.ports.size for r in report.runs if r.arena.private} - {report.settings.ports}
    found += [
        f"The limit of open files has room for a range of {size:,} ports, "
        f"not {report.settings.ports:,}; raise it with ulimit -n."
        for size in smaller
    ]
    return found


def _missed(run: Run) -> str:
    levels = ", ".join(f"{level} ({files_needed(level):,})" for level in run.arena.ladder.beyond)
    return (
        f"{run.arena.family.value}: not measured, with the limit of open files that each needs: "
        f"{levels}; the highest level within reach stands in for them."
    )


def footer(report: Report) -> str:
    """Say what the figures are of and where they come from."""
    ranges = {run.arena.ports for run in report.runs}
    where = "; ".join(f"{p.low}-{p.high} ({p.size:,} ports)" for p in sorted(ranges))
    return (
        f"Microseconds of address, socket() and connect(), not of close(): socket.create_connection(address) against "
        f"Connector.create_connection(address), {report.settings.operations:,} operations per row "
        f"and way, in turns of {report.settings.block}. Connections are closed by reset, so no "
        f"TIME_WAIT takes part. "
        f"Range {where}; {report.machine}."
    )
