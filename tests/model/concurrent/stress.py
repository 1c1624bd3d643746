"""Threads that connect, close and look all at once; ``python stress.py FORM ROUNDS`` prints what went wrong.

Chains are few and long, so that readers meet what writers move. Fixed connections stand between the others' and must
be found at every look: a reader who follows a node into another chain misses them.
"""

from __future__ import annotations

import mmap
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

from fourtuple.model.concurrent import Keys, Layout, Tables, locked_tables, rcu_tables
from fourtuple.model.concurrent.loops import churn, look

Form: TypeAlias = Callable[[Layout, "memoryview[int]", int], Tables]

FORMS: dict[str, Form] = {"locked": locked_tables, "rcu": rcu_tables}
LAYOUT = Layout(workers=6, bind_chains=2, established_chains=2, nodes=1_000)
CHURNED = [Keys(1, destination, 443, 10_000, 10_011) for destination in (2, 3)]
FIXED = Keys(1, 4, 443, 10_004, 10_019)
CHURNERS = 4
HELD = 4


def block(layout: Layout) -> memoryview[int]:
    """Memory that processes share, all zeros."""
    return memoryview(mmap.mmap(-1, layout.size)).cast("Q")


def faults(form: Form, rounds: int) -> list[str]:
    """What four threads that churn and two that look find wrong."""
    memory = block(LAYOUT)
    tables = [form(LAYOUT, memory, worker) for worker in range(LAYOUT.workers)]
    fixed = [tables[0].connect(FIXED, 0) for _ in range(FIXED.low, FIXED.high + 1)]
    found: list[str] = [f"fixed: {min(fixed)}"] if min(fixed) < 0 else []
    start = threading.Barrier(LAYOUT.workers)
    marks = [memoryview(bytearray(8 * (keys.high - keys.low + 1))).cast("Q") for keys in CHURNED]

    def write(worker: int) -> None:
        start.wait()
        which = worker % len(CHURNED)
        done = churn(tables[worker], CHURNED[which], marks[which], HELD, rounds, worker)
        if done.twice or done.lost:
            found.append(f"worker {worker}: {done}")

    def read(worker: int) -> None:
        start.wait()
        turns = max(rounds // len(fixed), 1)
        missed = turns * len(fixed) - look(tables[worker], FIXED, turns)
        if missed:
            found.append(f"worker {worker}: {missed} looks missed a fixed connection")

    work: list[Callable[[int], None]] = [write] * CHURNERS + [read] * (LAYOUT.workers - CHURNERS)
    with ThreadPoolExecutor(LAYOUT.workers) as pool:
        for done in [pool.submit(one, worker) for worker, one in enumerate(work)]:
            done.result()
    found += [f"left over: {keys.destination}" for keys in CHURNED if look(tables[0], keys, 1)]
    found += [f"fixed {handle}: not closed" for handle in fixed if tables[1].close(handle)]
    return found


if __name__ == "__main__":
    sys.exit("\n".join(faults(FORMS[sys.argv[1]], int(sys.argv[2]))) or None)
