"""How look-ups in the concurrent tables scale: `python benchmarks/model_concurrent.py` compares two threads with one.

Runs of one thread and of two take turns, many and short. Each figure is the best run of its kind: on a machine that
others use too, the best is the one that was disturbed least. A rate by the clock needs two processors that are free;
one by processor time leaves out the waiting for a processor, but what two threads cost one another only shows in it
while both run at once.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fourtuple.model.concurrent import Keys, Layout, Tables, locked_tables, rcu_tables
from fourtuple.model.concurrent.loops import look

PAIRS = 60
ROUNDS = 20
GOAL = 1.8
LAYOUT = Layout(workers=2, bind_chains=1 << 16, established_chains=1 << 16, nodes=1 << 16)
KEYS = Keys(1, 2, 443, 10_000, 29_999)
FORMS: dict[str, Callable[[Layout, memoryview[int], int], Tables]] = {"locked": locked_tables, "rcu": rcu_tables}


@dataclass(frozen=True)
class Rate:
    """Look-ups per second, by the clock and, summed over threads, by the time that each was on a processor."""

    clock: float
    processor: float


@dataclass(frozen=True)
class Scaling:
    """The best of one thread and of two together."""

    one: Rate
    two: Rate


def scaling(form: str) -> Scaling:
    """Measure one form of the tables, with 20,000 connections in them."""
    memory = memoryview(mmap.mmap(-1, LAYOUT.size)).cast("Q")
    tables = [FORMS[form](LAYOUT, memory, worker) for worker in range(LAYOUT.workers)]
    for place in range(KEYS.high - KEYS.low + 1):
        tables[0].connect(KEYS, place)
    with ThreadPoolExecutor(len(tables)) as pool:
        runs = [(_rate(pool, tables[:1]), _rate(pool, tables)) for _ in range(PAIRS)]
    return Scaling(_best([one for one, _ in runs]), _best([two for _, two in runs]))


def _rate(pool: ThreadPoolExecutor, tables: list[Tables]) -> Rate:
    start = time.perf_counter()
    done = list(pool.map(_look, tables))
    return Rate(sum(found for found, _ in done) / (time.perf_counter() - start), sum(found / on for found, on in done))


def _look(tables: Tables) -> tuple[int, float]:
    start = time.thread_time()
    found = look(tables, KEYS, ROUNDS)
    return found, time.thread_time() - start


def _best(rates: list[Rate]) -> Rate:
    return Rate(max(rate.clock for rate in rates), max(rate.processor for rate in rates))


def main() -> None:
    for form in FORMS:
        measured = scaling(form)
        for name, one, two in (
            ("by the clock", measured.one.clock, measured.two.clock),
            ("by processor time", measured.one.processor, measured.two.processor),
        ):
            print(
                f"{form:6} {name:17}  one thread {one / 1e6:5.1f} M look-ups/s, two {two / 1e6:5.1f} M/s, "
                f"ratio {two / one:.2f}"
            )
    print(f"goal: rcu by the clock at least {GOAL}, on two free processors")
    print(f"load average of the last minute {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
