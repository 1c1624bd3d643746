"""What an operation did to the tables: the sums (`Trace`) and, where recorded, step by step (`Step`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Trace:
    """The counts of one operation, or of several added up.

    ``candidates``: ports tried, reserved ones not among them (``reserved``). ``bind_locks``, ``address_locks`` and
    ``established_locks``: spin locks taken of each table. ``rcu_walks``: chains walked without a lock.
    ``bind_nodes``, ``owner_nodes`` and ``established_nodes``: buckets, owners and sockets visited. ``hashes``: runs of
    jhash or siphash; an IPv6 four-tuple takes two. ``cache_lines``: distinct lines touched. ``allocated`` and
    ``freed``: buckets of either kind. ``reschedules``: calls of cond_resched().
    """

    candidates: int = 0
    reserved: int = 0
    bind_locks: int = 0
    address_locks: int = 0
    established_locks: int = 0
    rcu_walks: int = 0
    bind_nodes: int = 0
    owner_nodes: int = 0
    established_nodes: int = 0
    hashes: int = 0
    cache_lines: int = 0
    allocated: int = 0
    freed: int = 0
    reschedules: int = 0

    def __add__(self, other: Trace) -> Trace:
        return Trace(*(getattr(self, name) + getattr(other, name) for name in COUNTERS))


COUNTERS: tuple[str, ...] = tuple(field.name for field in fields(Trace))
"""The names of a trace's counts, in order."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: ``action`` as in `ACTIONS`, and the number of the slot, record or port that it is about."""

    action: str
    number: int


ACTIONS = (
    "try port",
    "skip reserved port",
    "lock bind slot",
    "lock address slot",
    "lock established slot",
    "walk bind slot under RCU",
    "walk established slot under RCU",
    "hash for port",
    "touch line",
    "touch record",
    "make bucket",
    "free bucket",
    "may reschedule after port",
)
"""What steps do; the compiled modules name them by their place here."""


def steps_of(pairs: Iterable[tuple[int, int]]) -> tuple[Step, ...]:
    """The steps that the compiled modules recorded as (place in `ACTIONS`, number)."""
    return tuple(Step(ACTIONS[action], number) for action, number in pairs)
