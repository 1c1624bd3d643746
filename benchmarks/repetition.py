"""One repetition of everything that the README quotes, for one family of addresses."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fourtuple.bench.demo.arena import Family, Settings, private_arena
from fourtuple.bench.demo.levels import held_at
from fourtuple.bench.demo.recording import Recording
from fourtuple.bench.demo.report import Run
from fourtuple.load.choosers import fourtuple_chooses, kernel_chooses
from fourtuple.load.churn import churn_in_tasks, churn_in_threads
from fourtuple.load.connections import Connections
from fourtuple.load.exhaustion import exhaust
from fourtuple.load.overhead import compare_with_plain
from fourtuple.load.world import open_world

THREADS = 8
TASKS = 200
ATTEMPTS = 50
"""Tries to connect when no port is left."""
PAIRS = 5_000
"""Connections of either way for the overhead."""
CHURN = 4_000
"""Connections of either way for each of threads and tasks."""

# Ports that another process takes at last, since the limit of open files keeps one from taking all.
_LEFT = 40
# The share cut off at either end for a mean that single disturbances do not move.
_TRIM = 0.1


@dataclass(frozen=True)
class Both:
    """A figure without fourtuple and with it."""

    without: float
    fourtuple: float


@dataclass(frozen=True)
class Repetition:
    """The run through the levels; µs of a connection at 5 %; connections per second at 95 %; refusals at 100 %.

    ``refused`` is in ms: the median and the longest.
    """

    run: Run
    overhead: dict[str, Both]
    rates: dict[str, Both]
    refused: tuple[float, float]


def repeat(family: Family, settings: Settings) -> Repetition:
    """Measure everything once. Raises ``ValueError`` if open files are too few for ``settings``."""
    arena = private_arena(family, settings)
    size = arena.ladder.size
    if size < settings.ports:
        raise ValueError(
            f"settings: the limit of open files allows {size} ports, not {settings.ports}; raise it with ulimit -n"
        )
    recording = Recording(arena, settings)
    for _ in recording.steps():
        pass
    few, many = held_at(5, size), held_at(95, size)
    with (
        open_world(kernel_chooses, arena.kernel) as kernel,
        open_world(fourtuple_chooses, arena.fourtuple) as fourtuple,
    ):
        fourtuple.ask(Connections.grow, few)
        plain, chosen = fourtuple.ask(compare_with_plain, PAIRS)
        fourtuple.ask(Connections.grow, many - few)
        kernel.ask(Connections.grow, many)
        in_threads = churn_in_threads, THREADS, CHURN // THREADS
        in_tasks = churn_in_tasks, TASKS, CHURN // TASKS
        rates = {
            f"{THREADS} threads": Both(kernel.ask(*in_threads), fourtuple.ask(*in_threads)),
            f"asyncio, {TASKS} tasks": Both(kernel.ask(*in_tasks), fourtuple.ask(*in_tasks)),
        }
        fourtuple.ask(Connections.grow, size - _LEFT - many)
        refusals = fourtuple.ask(exhaust, _LEFT, ATTEMPTS)
    if refusals.errors != frozenset({"PortsExhausted"}):
        raise RuntimeError(f"refused with {', '.join(refusals.errors)}, not PortsExhausted")
    return Repetition(
        recording.run(),
        {
            "connect, median": _both(statistics.median, plain.connect, chosen.connect),
            "connect, trimmed mean": _both(_trimmed_mean, plain.connect, chosen.connect),
            "connect and close, median": _both(statistics.median, plain.whole, chosen.whole),
            "connect and close, trimmed mean": _both(_trimmed_mean, plain.whole, chosen.whole),
        },
        rates,
        (statistics.median(refusals.took) / 1e6, max(refusals.took) / 1e6),
    )


def _both(summary: Callable[[Sequence[int]], float], plain: Sequence[int], chosen: Sequence[int]) -> Both:
    return Both(summary(plain) / 1000, summary(chosen) / 1000)


def _trimmed_mean(values: Sequence[int]) -> float:
    cut = int(len(values) * _TRIM)
    return statistics.fmean(sorted(values)[cut : len(values) - cut])
