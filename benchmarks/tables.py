"""The figures as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from figures import Compared, overhead, rates, refused, rows
from goals import goals
from repetition import ATTEMPTS, Repetition

from fourtuple.bench.demo.arena import Family
from fourtuple.bench.demo.timing import Spread

_LEVELS = (
    "in use",
    "held",
    "free",
    "kernel, µs",
    "fourtuple, µs",
    "kernel / fourtuple",
    "fourtuple / its 5 %",
)


def section(family: Family, done: Sequence[Repetition]) -> str:
    """Return the tables and the verdicts of one family of addresses."""
    levels = (
        (
            str(row.level),
            f"{row.level.held:,}",
            f"{row.free:,}",
            *map(text, (row.kernel, row.fourtuple, row.ratio, row.own_cost)),
        )
        for row in rows(done)
    )
    median, longest = map(text, refused(done))
    verdicts = (f"- {'PASS' if goal.reached else 'MISS'} {goal.text}" for goal in goals(done))
    return "\n\n".join(
        (
            f"#### {family.value}",
            table(_LEVELS, levels),
            _compared("µs at 5 %", "plain socket", "more", overhead(done)),
            _compared("connections/s at 95 %", "kernel", "times", rates(done)),
            f"At 100 %: PortsExhausted after {median} ms, {longest} the longest of {ATTEMPTS}.",
            "\n".join(verdicts),
        )
    )


def _compared(what: str, without: str, result: str, figures: dict[str, Compared]) -> str:
    return table(
        (what, without, "fourtuple", result),
        ((name, *map(text, (figure.without, figure.fourtuple, figure.result))) for name, figure in figures.items()),
    )


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table, its first column text and the others figures."""
    ruler = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ruler, *lines))


def text(figure: Spread) -> str:
    """Return a figure as median (least–greatest)."""
    return f"{_digits(figure.median)} ({_digits(figure.low)}–{_digits(figure.high)})"


def _digits(value: float) -> str:
    if abs(value) < 9.95:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}"
