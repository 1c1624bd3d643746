"""The two hash tables as chains of nodes in the block; ``tables`` has the rules for their use."""

from __future__ import annotations

import errno

from . import atomics
from .layout import ADDRESSES, BUCKET, HEAD, LINE, LINK, LOCK, PORTS, STATE, Layout

# The layout's numbers once more: compiled, they are C integers.
_LINE = LINE
_LOCK = LOCK
_HEAD = HEAD
_BUCKET = BUCKET
_LINK = LINK
_STATE = STATE
_ADDRESSES = ADDRESSES
_PORTS = PORTS
_ENOENT = errno.ENOENT

# A handle is a node's number and, above it, the low 31 bits of its state.
NODE_MASK = 0xFFFFFFFF
_NODE_BITS = 32
_STATE_MASK = 0x7FFFFFFF

# Odd factors that spread keys over all bits of a word: 2**64 by the golden ratio, and what is left to 2**64.
_SPREAD = 0x9E3779B97F4A7C15
_SPREAD_AGAIN = 0x61C8864680B583EB
_WORD = 0xFFFFFFFFFFFFFFFF


class Chains:
    """The chains of a block of ``layout``. A chain is named by its place, a node by its number; 0 is no node."""

    def __init__(self, layout: Layout, memory: memoryview[int]) -> None:
        self._memory = memory
        self._words = atomics.words(memory)
        self._bind = layout.bind
        self._bind_mask = layout.bind_chains - 1
        self._established = layout.established
        self._established_mask = layout.established_chains - 1
        self._first_node = layout.first_node

    def bind_chain(self, port: int) -> int:
        """Return the chain of a local port. Neighbouring ports have neighbouring chains, as in the kernel."""
        return self._bind + (port & self._bind_mask) * _BUCKET

    def established_chain(self, addresses: int, ports: int) -> int:
        """Return the chain of a four-tuple."""
        mixed = (addresses * _SPREAD & _WORD) ^ ports
        mixed = (mixed ^ mixed >> 32) * _SPREAD_AGAIN & _WORD
        return self._established + (mixed >> 32 & self._established_mask) * _BUCKET

    def lock(self, chain: int) -> None:
        """Lock a chain."""
        atomics.lock(self._words, chain + _LOCK)

    def unlock(self, chain: int) -> None:
        """Unlock a chain."""
        atomics.unlock(self._words, chain + _LOCK)

    def walk(self, chain: int, addresses: int, ports: int) -> int:
        """Return the node with these fields in a chain that is locked, or while reading; 0 if there is none."""
        node = atomics.load(self._words, chain + _HEAD)
        while node:
            at = self._first_node + node * _LINE
            if self._words[at + _ADDRESSES] == addresses and self._words[at + _PORTS] == ports:
                break
            node = atomics.load(self._words, at + _LINK)
        return node

    def link(self, chain: int, node: int) -> None:
        """Put a node whose fields are written first into a locked chain."""
        at = self._first_node + node * _LINE
        atomics.release(self._words, at + _LINK, atomics.load(self._words, chain + _HEAD))
        atomics.store(self._words, chain + _HEAD, node)

    def unlink(self, chain: int, node: int) -> None:
        """Take a node out of the locked chain that it is in."""
        link = chain + _HEAD
        while atomics.load(self._words, link) != node:
            link = self._first_node + atomics.load(self._words, link) * _LINE + _LINK
        atomics.store(self._words, link, atomics.load(self._words, self._first_node + node * _LINE + _LINK))

    def handle(self, node: int) -> int:
        """Return the handle of a node, -ENOENT if it is no live connection; nothing ever writes node 0."""
        state = atomics.load(self._words, self._first_node + node * _LINE + _STATE)
        if state & 1:
            return (state & _STATE_MASK) << _NODE_BITS | node
        return -_ENOENT
