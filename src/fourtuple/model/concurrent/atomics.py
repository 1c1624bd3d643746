"""Words of memory that many use at once, as compiled modules reach them where they run uncompiled.

``catomics.pxd`` declares the same functions in C, over the compiler's ``__atomic`` builtins (the memory model is that
of C11); see `fourtuple.linux.libc` for how a module comes by either. Here, the interpreter's lock makes a load or a
store one step for the threads of this process, and a lock of this module does for the rest. Several *processes* may
share a block only through compiled modules.

Words are unsigned and have 64 bits; a place is counted in words.
"""

from __future__ import annotations

import os
import threading
from typing import TypeAlias

Words: TypeAlias = "memoryview[int]"

_one_step = threading.Lock()


def words(memory: Words) -> Words:
    """Return what the other functions take for ``memory``, which must live on: in C it is a bare address."""
    return memory


def load(words: Words, place: int) -> int:
    """Read a word, in the one order of all loads and stores of this kind (sequentially consistent)."""
    return words[place]


def store(words: Words, place: int, value: int) -> None:
    """Write a word, in the one order of all loads and stores of this kind (sequentially consistent)."""
    with _one_step:
        words[place] = value


def release(words: Words, place: int, value: int) -> None:
    """Write a word: whoever loads it sees also what was written before it."""
    store(words, place, value)


def exchange(words: Words, place: int, value: int) -> int:
    """Write a word and return what was there."""
    with _one_step:
        before = words[place]
        words[place] = value
    return before


def add(words: Words, place: int, value: int) -> int:
    """Add to a word and return what was there."""
    with _one_step:
        before = words[place]
        words[place] = before + value
    return before


def replace(words: Words, place: int, old: int, new: int) -> bool:
    """Write ``new`` if the word is ``old``; return whether it was."""
    with _one_step:
        same = words[place] == old
        if same:
            words[place] = new
    return same


def lock(words: Words, place: int) -> None:
    """Make a word 1 once it is 0: a spin lock that gives the processor away when it has to wait long."""
    while exchange(words, place, 1):
        os.sched_yield()


def unlock(words: Words, place: int) -> None:
    """Make the word 0: whoever locks it next sees also what was written before."""
    store(words, place, 0)
