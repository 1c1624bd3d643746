"""The nodes that are not in a chain.

Every worker has a pool, a queue in order of retirement: what it closes goes to the tail, and what it needs comes from
the head once no reader can hold it any more (see ``epochs``). While its own head is too young it takes nodes that were
never used, then those of others' pools, so that a worker which only closes does not keep what one which only connects
lacks. A pool's lock orders all that is done to its words and to ``QUEUED`` and ``RETIRED`` of its nodes.
"""

from __future__ import annotations

import errno

from . import atomics
from .epochs import Epochs
from .layout import FIRST, LAST, LINE, QUEUED, RETIRED, USED, Layout

# The layout's numbers once more: compiled, they are C integers.
_LINE = LINE
_USED = USED
_FIRST = FIRST
_LAST = LAST
_QUEUED = QUEUED
_RETIRED = RETIRED
_ENOMEM = errno.ENOMEM
_EAGAIN = errno.EAGAIN


class Pool:
    """The free nodes of a block, as ``worker`` takes and gives them. One thread may use it at a time."""

    def __init__(self, layout: Layout, memory: memoryview[int], worker: int) -> None:
        layout.check(memory, worker)
        self._memory = memory
        self._words = atomics.words(memory)
        self._epochs = Epochs(layout, memory, worker)
        self._pools = layout.pools
        self._workers = layout.workers
        self._worker = worker
        self._first_node = layout.first_node
        self._nodes = layout.nodes

    def take(self) -> int:
        """Return a node that is nobody's; -ENOMEM if all are in use, -EAGAIN if readers may still hold the rest.

        Must not be called while this worker reads.
        """
        node = self._oldest(self._worker)
        if node > 0:
            return node
        fresh = self._fresh()
        if fresh:
            return fresh
        step = 1
        while node <= 0 and step < self._workers:
            node = self._oldest((self._worker + step) % self._workers) or node
            step += 1
        return node or -_ENOMEM

    def give(self, node: int) -> None:
        """Take back a node that no link leads to any more, for reuse when its readers have left."""
        pool = self._pools + self._worker * _LINE
        at = self._first_node + node * _LINE
        stamp = self._epochs.now()
        atomics.lock(self._words, pool)
        self._words[at + _QUEUED] = 0
        self._words[at + _RETIRED] = stamp
        last = self._words[pool + _LAST]
        if last:
            self._words[self._first_node + last * _LINE + _QUEUED] = node
        else:
            self._words[pool + _FIRST] = node
        self._words[pool + _LAST] = node
        atomics.unlock(self._words, pool)

    # The head of a worker's queue, -EAGAIN if it is too young, 0 if there is none.
    def _oldest(self, worker: int) -> int:
        pool = self._pools + worker * _LINE
        atomics.lock(self._words, pool)
        node = self._words[pool + _FIRST]
        at = self._first_node + node * _LINE
        result = node
        if node and not self._rested(self._words[at + _RETIRED]):
            result = -_EAGAIN
        elif node:
            self._words[pool + _FIRST] = self._words[at + _QUEUED]
            if self._words[pool + _FIRST] == 0:
                self._words[pool + _LAST] = 0
        atomics.unlock(self._words, pool)
        return result

    # With no reader about, an epoch can end as often as one likes.
    def _rested(self, stamp: int) -> bool:
        if not self._epochs.passed(stamp):
            self._epochs.advance()
        if not self._epochs.passed(stamp):
            self._epochs.advance()
        return self._epochs.passed(stamp)

    # A node never used, or 0. The count is looked at first, so that it does not run on for ever.
    def _fresh(self) -> int:
        if atomics.load(self._words, _USED) >= self._nodes:
            return 0
        node = atomics.add(self._words, _USED, 1) + 1
        return node if node <= self._nodes else 0
