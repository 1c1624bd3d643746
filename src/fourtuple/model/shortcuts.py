"""Stretches of taken ports that a search need not look at again, since nothing in them has changed.

A search at high occupancy passes thousands of taken ports, nearly all of which it passed the time before. A *block* is
16 candidates of one parity whose bind slots fill 8 cache lines. When a search has walked through a whole block in vain,
what that added to the counters is kept, and the next search adds the same at once:

1. Ports of a block have bind and established slots of their own, if both tables have 65536 slots at least and the port
   is added to the hash. So only a connection of such a port changes what is found there: `forget` its block then.
2. Only blocks count in which every candidate was turned down by a live socket that RCU saw. Each candidate touched the
   line of its bind slot and that of its established slot then. Neighbours share these, so that they are touched again,
   every time. Records are touched by no other candidate.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tables import Tables

CANDIDATES = 16
"""In a block."""

_SPAN = 32  # ports from the beginning of a block to that of the next one of the parity
_BLOCKS = 1 << 12  # of 65536 slots, by parity and place


class Shortcuts:
    """Those of searches over ``tables`` towards the destination aimed at, between other operations' changes."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known = array("B", bytes(_BLOCKS))
        self._bind_nodes = array("I", [0]) * _BLOCKS
        self._established_nodes = array("I", [0]) * _BLOCKS
        self._hashes = array("I", [0]) * _BLOCKS
        self._record_lines = array("I", [0]) * _BLOCKS
        self._walked = -1
        self._end = 0
        # The counters at the beginning of the block under way.
        self._walks = 0
        self._locks = 0
        self._nodes = 0
        self._sockets = 0
        self._runs = 0
        self._lines = 0

    def start(self) -> None:
        """A search starts."""
        self._walked = -1

    def passed(self, port: int, slot: int) -> bool:
        """Whether the block that begins with ``port``, of that bind slot, may be passed over; it is counted then."""
        self._finish(port)
        block = (slot & 1) << 11 | slot >> 5
        if not self._known[block]:
            self._begin(port, block)
            return False
        self._tables.candidates += CANDIDATES
        self._tables.rcu_walks += 2 * CANDIDATES
        self._tables.reschedules += CANDIDATES
        self._tables.bind_nodes += self._bind_nodes[block]
        self._tables.established_nodes += self._established_nodes[block]
        self._tables.hashes += self._hashes[block]
        self._tables.record_lines += self._record_lines[block]
        self._tables.touch_slots(port, slot)
        return True

    def forget(self, slot: int) -> None:
        """Something changed at a bind slot."""
        self._known[(slot & 1) << 11 | slot >> 5] = 0

    def _begin(self, port: int, block: int) -> None:
        self._walked = block
        self._end = port + _SPAN
        self._walks = self._tables.rcu_walks
        self._locks = self._tables.bind_locks
        self._nodes = self._tables.bind_nodes
        self._sockets = self._tables.established_nodes
        self._runs = self._tables.hashes
        self._lines = self._tables.record_lines

    def _finish(self, port: int) -> None:
        # The block under way has been walked through if this is where it ends.
        block = self._walked
        self._walked = -1
        if (
            block < 0
            or port != self._end
            or self._tables.bind_locks != self._locks
            or self._tables.rcu_walks - self._walks != 2 * CANDIDATES
        ):
            return
        self._known[block] = 1
        self._bind_nodes[block] = self._tables.bind_nodes - self._nodes
        self._established_nodes[block] = self._tables.established_nodes - self._sockets
        self._hashes[block] = self._tables.hashes - self._runs
        self._record_lines[block] = self._tables.record_lines - self._lines
