"""Connections that are reset and made anew at random, by the million: an `Experiment` without the interpreter."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import cython  # pyright: ignore[reportMissingTypeStubs]

from . import layout
from .shortcuts import Shortcuts
from .trace import Trace

if TYPE_CHECKING:
    from .buckets import Buckets
    from .randomness import Randomness
    from .search import Search
    from .tables import Tables

_COUNTERS = 14  # of a Trace


class Churn:
    """Over ``socks``, the records of connections to one destination, which stay the same records.

    ``low`` to ``high`` is the range, both included; ``port_offset`` the destination's hash, ``width``
    ip_local_port_step_width. ``chance`` draws which connection goes.
    """

    def __init__(
        self,
        tables: Tables,
        buckets: Buckets,
        search: Search,
        chance: Randomness,
        socks: array[int],
        *,
        low: int,
        high: int,
        port_offset: int,
        width: int,
    ) -> None:
        self._tables = tables
        self._buckets = buckets
        self._search = search
        self._chance = chance
        self._socks = socks
        self._count = len(socks)
        self._low = low
        self._high = high
        self._port_offset = port_offset
        self._width = width
        self._totals = array("q", bytes(8 * _COUNTERS))
        self._shortcuts = Shortcuts(tables)

    def run(self, connects: int) -> Trace:
        """Reset one and connect one, that often. Returns the sum of what the connects did."""
        for place in range(_COUNTERS):
            self._totals[place] = 0
        self._tables.begin()
        self._search.take(self._shortcuts)
        rounds = connects
        with cython.nogil:
            self._run(rounds)
        self._search.take(None)
        return Trace(*self._totals)

    def _run(self, connects: int) -> None:
        for _ in range(connects):
            sock = self._socks[self._chance.below(self._count)]
            self._tables.clear()
            self._shortcuts.forget(self._slot(sock))
            self._reset(sock)
            self._tables.clear()
            self._connect(sock)
            self._shortcuts.forget(self._slot(sock))
            self._add()

    def _slot(self, sock: int) -> int:
        return self._tables.bind_slot(self._tables.read(sock, layout.LOCAL_PORT), self._tables.netns)

    def _reset(self, sock: int) -> None:
        self._tables.lock_established(self._tables.read(sock, layout.HASH))
        self._tables.leave(sock)
        self._buckets.release(sock)

    def _connect(self, sock: int) -> None:
        # The record of the one that went serves again: who it connects to is still in it.
        flags = self._tables.read(sock, layout.FLAGS)
        self._tables.write(sock, layout.FLAGS, flags & ~layout.CONNECT_BOUND)
        self._tables.write(sock, layout.STATE, layout.CLOSED)
        self._search.choose(sock, self._low, self._high, False, self._port_offset, self._width)
        # The port offset's, which is computed for each connect().
        self._tables.hashes += 1

    def _add(self) -> None:
        self._totals[0] += self._tables.candidates
        self._totals[1] += self._tables.reserved
        self._totals[2] += self._tables.bind_locks
        self._totals[3] += self._tables.address_locks
        self._totals[4] += self._tables.established_locks
        self._totals[5] += self._tables.rcu_walks
        self._totals[6] += self._tables.bind_nodes
        self._totals[7] += self._tables.owner_nodes
        self._totals[8] += self._tables.established_nodes
        self._totals[9] += self._tables.hashes
        self._totals[10] += self._tables.slot_lines + self._tables.record_lines
        self._totals[11] += self._tables.allocated
        self._totals[12] += self._tables.freed
        self._totals[13] += self._tables.reschedules
