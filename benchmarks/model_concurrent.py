"""How look-ups in the concurrent tables scale, for `model.py`: two threads compared with one.

Turns of one thread and of two alternate, many and short, between the forms too. Each figure is the best turn of its
kind: on a machine that others use too, the best is the one that was disturbed least. Threads that share nothing show
what the machine gives to two threads at all.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fourtuple.model.concurrent import Keys, Layout, Tables, locked_tables, rcu_tables
from fourtuple.model.concurrent.loops import look

TURNS = 120
ROUNDS = 30
CPUS = 2
LAYOUT = Layout(workers=CPUS, bind_chains=1 << 16, established_chains=1 << 16, nodes=1 << 16)
KEYS = Keys(1, 2, 443, 10_000, 29_999)


@dataclass(frozen=True)
class Scaling:
    """Look-ups per second of one thread and of two together, in the best turn of each."""

    one: float
    two: float

    @property
    def ratio(self) -> float:
        """Two threads to one."""
        return self.two / self.one


def scalings() -> dict[str, Scaling]:
    """Measure tables that two threads share, locked and RCU-style, and RCU-style ones that each has to itself.

    There are 20,000 connections in all of them.
    """
    forms = {
        "locked": _tables(locked_tables),
        "RCU": _tables(rcu_tables),
        "nothing shared": [_tables(rcu_tables)[0] for _ in range(CPUS)],
    }
    best = dict.fromkeys(forms, (0.0, 0.0))
    with ThreadPoolExecutor(CPUS) as pool:
        for _ in range(TURNS):
            for name, tables in forms.items():
                one, two = best[name]
                best[name] = (max(one, _rate(pool, tables[:1])), max(two, _rate(pool, tables)))
    return {name: Scaling(*rates) for name, rates in best.items()}


def _tables(form: Callable[[Layout, memoryview[int], int], Tables]) -> list[Tables]:
    # One block, seen by each worker.
    memory = memoryview(mmap.mmap(-1, LAYOUT.size)).cast("Q")
    tables = [form(LAYOUT, memory, worker) for worker in range(CPUS)]
    for place in range(KEYS.high - KEYS.low + 1):
        tables[0].connect(KEYS, place)
    return tables


def _rate(pool: ThreadPoolExecutor, tables: list[Tables]) -> float:
    start = time.perf_counter()
    found = sum(pool.map(_look, tables))
    return found / (time.perf_counter() - start)


def _look(tables: Tables) -> int:
    return look(tables, KEYS, ROUNDS)
