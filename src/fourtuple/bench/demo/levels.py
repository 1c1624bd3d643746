"""Shares of the port range, the connections they stand for, and which of them can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEVELS = (5.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
"""The shares of the range that are measured, in per cent."""

SMALLEST_RANGE = 100
"""Ports; with fewer, 99 % would leave none free."""


@dataclass(frozen=True, slots=True)
class Level:
    """``held`` connections to one destination, ``percent`` of the ports of the range."""

    percent: float
    held: int

    def __str__(self) -> str:
        return f"{self.percent:.4g} %"


@dataclass(frozen=True, slots=True)
class Ladder:
    """The levels of a range of ``size`` ports, ascending: those within reach and those beyond."""

    size: int
    reached: tuple[Level, ...]
    beyond: tuple[Level, ...]


def ladder(percents: Sequence[float], size: int, most: int) -> Ladder:
    """Return the levels of a range of ``size`` ports when ``most`` connections can be held.

    Levels beyond are replaced by the highest within reach, so something is said about the top.

    Raises ``ValueError`` for ``percents`` that are none, or not above 0 and below 100, and if
    ``size`` is below `SMALLEST_RANGE` or ``most`` below 1.
    """
    if not percents or not all(0 < percent < 100 for percent in percents):
        raise ValueError(f"percents: {percents} are not shares above 0 and below 100 per cent")
    if size < SMALLEST_RANGE:
        raise ValueError(f"size: {size} ports are too few to compare levels, use {SMALLEST_RANGE}")
    if most < 1:
        raise ValueError(f"most: {most} connections are none to measure")
    levels = [Level(percent, held_at(percent, size)) for percent in sorted(set(percents))]
    reached = [level for level in levels if level.held <= most]
    beyond = [level for level in levels if level.held > most]
    if beyond and (not reached or reached[-1].held < most):
        reached.append(Level(100 * most / size, most))
    return Ladder(size, tuple(reached), tuple(beyond))


def held_at(percent: float, size: int) -> int:
    """Return how many of ``size`` ports are in use at ``percent``, rounded down, at least 1."""
    # Rounded first: 99.9 / 100 * size may fall short of a whole number by the error of a binary
    # fraction.
    return max(1, int(round(size * percent / 100, 6)))


def largest_size(percents: Sequence[float], wanted: int, most: int) -> int:
    """Return the largest range up to ``wanted`` whose top level is at most ``most`` connections."""
    top = max(percents)
    size = min(wanted, int((most + 1) * 100 / top) + 1)
    while size > 0 and held_at(top, size) > most:
        size -= 1
    return size
