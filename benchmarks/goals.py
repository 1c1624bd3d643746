"""What the figures must reach, and whether they do: by the median of the repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from figures import in_blocks, overhead, refused, rows
from repetition import ATTEMPTS, Repetition


@dataclass(frozen=True)
class Goal:
    """``text`` says what is wanted, with the figure that was found."""

    text: str
    reached: bool


def goals(done: Sequence[Repetition]) -> list[Goal]:
    """Judge the repetitions of one family of addresses."""
    by_percent = {row.level.percent: row for row in rows(done)}
    found: list[Goal] = []
    for percent, most in ((95, 1.5), (99, 1.5), (99.9, 3)):
        cost = by_percent[percent].own_cost.median
        text = f"at {percent} %: at most {most} times its own cost at 5 %: {cost:.2f}"
        found.append(Goal(text, cost <= most))
    for percent in (95, 99):
        ratio = by_percent[percent].ratio.median
        text = f"at {percent} %: at least 10 times cheaper than the kernel's choice: {ratio:.1f}"
        found.append(Goal(text, ratio >= 10))
    usual, longest = (figure.median for figure in refused(done))
    text = f"at 100 %: PortsExhausted in under 5 ms: {usual:.2f} ms, the longest of {ATTEMPTS} {longest:.2f} ms"
    found.append(Goal(text, usual < 5))
    more = overhead(done)["connect, median"].result.median
    found.append(Goal(f"at 5 %: at most 5 µs more than plain sockets, in turns: {more:.1f} µs", more <= 5))
    more = in_blocks(done).median
    found.append(Goal(f"at 5 %: at most 5 µs more than plain sockets, block by block: {more:.1f} µs", more <= 5))
    return found
