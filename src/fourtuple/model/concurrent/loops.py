"""What threads do with the tables for tests and figures, in loops without the interpreter."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import cython  # pyright: ignore[reportMissingTypeStubs]

from . import atomics
from .keys import Keys
from .tables import Tables

# Knuth's linear congruential generator of 64 bits.
_FACTOR = 6364136223846793005
_TERM = 1442695040888963407
_WORD = 0xFFFFFFFFFFFFFFFF


class Churned(NamedTuple):
    """What came of a churn: all but ``refused`` must be 0.

    ``twice`` counts four-tuples that another worker held, ``lost`` those that a look-up or a close did not find,
    ``refused`` the tries for which there was no port or no node.
    """

    twice: int
    lost: int
    refused: int


def churn(tables: Tables, keys: Keys, marks: memoryview[int], held: int, rounds: int, seed: int) -> Churned:
    """Connect from a random port on, ``rounds`` times, and close what was connected ``held`` rounds ago.

    ``marks`` are words, one for each port of ``keys``, 0 at first: each is 1 while someone holds the port. All workers
    that churn the same keys share them, and see by them what the tables did wrong. Nothing is held at the end.
    """
    handles = array("q", bytes(8 * held))
    ring = memoryview(handles)
    words = atomics.words(marks)
    draw = seed * 2 + 1
    twice = lost = refused = 0
    with cython.nogil:
        for turn in range(rounds + held):
            place = turn % held
            handle = ring[place]
            if handle > 0:
                atomics.store(words, tables.local_port(handle) - keys.low, 0)
                lost += tables.close(handle) != 0
                ring[place] = 0
            if turn < rounds:
                draw = _next(draw)
                handle = tables.connect(keys, draw >> 33)
                ring[place] = handle
                if handle < 0:
                    refused += 1
                else:
                    port = tables.local_port(handle)
                    twice += atomics.exchange(words, port - keys.low, 1) != 0
                    lost += tables.lookup(keys, port) != handle
    return Churned(twice, lost, refused)


def look(tables: Tables, keys: Keys, rounds: int) -> int:
    """Look every port of ``keys`` up, one after the other and ``rounds`` times; return how many were found."""
    found = 0
    with cython.nogil:
        for _turn in range(rounds):
            for port in range(keys.low, keys.high + 1):
                found += tables.lookup(keys, port) > 0
    return found


# The next of a row of pseudo-random numbers.
def _next(draw: int) -> int:
    return draw * _FACTOR + _TERM & _WORD
