"""Epochs: how long a node that was taken out of its chain may still have a reader.

The counterpart of the kernel's grace periods. All workers share a count, the epoch. Rules, each of which ``tables`` and
``pool`` rely on:

1. A reader writes the epoch it has read, plus one, into its own word, and only then loads the first link. It writes 0
   there after its last load.
2. Whoever takes a node out does so by a store to the one link that leads to it, and only then reads the epoch: the
   node's stamp.
3. The epoch moves on by one, and only while every reader's word is 0 or of the present epoch. A reader that is held
   up stops it: at most one step is taken after it began.
4. A node stamped e is nobody's once the epoch is e + 2. Proof: links, epoch and readers' words are loaded and stored
   in one order of all (sequentially consistent). If a reader could still reach the node, its load of a link came
   before the store of rule 2, so its word was written before that too, with at most e; and the step from e + 1 to e + 2
   looked at all words later than the stamp, so it saw that word and was not taken. One step is not enough: the step
   from e to e + 1 lets a reader of epoch e pass.
5. What a reader did happens before the reuse of the node: its word is released by the last store of rule 1, acquired
   by whoever moves the epoch on, released with the epoch, and acquired by whoever finds the stamp old enough. So a
   reader may read the fields of a node by plain loads, and a reuser write them by plain stores.
"""

from __future__ import annotations

from . import atomics
from .layout import EPOCH, LINE, Layout

# The layout's numbers once more: compiled, they are C integers.
_LINE = LINE
_EPOCH = EPOCH
_GRACE = 2  # rule 4


class Epochs:
    """The epoch of a block, as ``worker`` takes part in it. One thread may use it at a time."""

    def __init__(self, layout: Layout, memory: memoryview[int], worker: int) -> None:
        layout.check(memory, worker)
        self._memory = memory
        self._words = atomics.words(memory)
        self._readers = layout.readers
        self._workers = layout.workers
        self._own = layout.readers + worker * LINE

    def enter(self) -> None:
        """Begin to read: from now on nothing that can be reached is reused. Readings do not nest."""
        atomics.store(self._words, self._own, atomics.load(self._words, _EPOCH) + 1)

    def leave(self) -> None:
        """End reading."""
        atomics.release(self._words, self._own, 0)

    def now(self) -> int:
        """Return the epoch."""
        return atomics.load(self._words, _EPOCH)

    def passed(self, stamp: int) -> bool:
        """Return whether all who were reading at epoch ``stamp`` have left."""
        return atomics.load(self._words, _EPOCH) >= stamp + _GRACE

    def advance(self) -> None:
        """Move the epoch on by one if the readers let it."""
        epoch = atomics.load(self._words, _EPOCH)
        for worker in range(self._workers):
            word = atomics.load(self._words, self._readers + worker * _LINE)
            if word != 0 and word != epoch + 1:
                return
        atomics.replace(self._words, _EPOCH, epoch, epoch + 1)
