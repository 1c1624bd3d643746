"""The tables that real threads and processes use at once: who holds which four-tuple.

As in the kernel there are two hash tables of chains with a lock each. The bind hash knows the local ports: a node (a
"bind bucket") for each port that has a connection, which counts them. The established hash knows the four-tuples: a
node for each connection. A connection is made under the lock of its port's chain, and, inside that, the lock of its
own. There are two forms:

- `locked_tables`: every look is under the lock of the chain it looks at, as the port search was before the kernel's
  commits d186f405fdf4 ("tcp: add RCU management to inet_bind_bucket") and 86c2bc293b81 ("tcp: use RCU lookup in
  __inet_hash_connect()").
- `rcu_tables`: a look takes no lock and writes no more than its worker's own word. The search looks before it locks,
  so a taken port costs no lock at all; what looks free is looked at once more under the lock.

Rules, where "the lock" is that of the chain a node is in:

1. Locks are taken in the order: bind chain, established chain, pool. Nothing waits for a lock against it.
2. A chain changes under its lock, and each change is one store to one link: a node's own link is set before the link
   that leads to it (publication), and a node taken out keeps its own link, so that a reader who stands on it goes on.
3. Links are loaded and stored sequentially consistently, but for the link of a node that nobody can reach yet. That
   orders a node's fields before its publication (a reader acquires what the writer released), and it is what rule 4 of
   ``epochs`` rests on. On x86-64 the loads are plain moves and a store is an exchange; on arm64 they are ldar and stlr.
4. ADDRESSES, PORTS and OWNER are written before publication and never again before the node is reused; so whoever
   reached the node may read them plainly, under the lock or between Epochs.enter() and leave().
5. OWNERS (the connections of a port) is read and written under the lock of the bind chain alone.
6. STATE is a count that is odd while the node is a live connection and even otherwise. It is part of the handle. It
   becomes odd by a store before publication and even by a compare-and-swap, the first step of close(): of several who
   close one handle one wins, a handle from before the node's reuse never fits, and a reader who finds it even has found
   nothing. Here a look takes effect: at its load of STATE, or at the last link where it met no node.
7. What is in a chain is taken, whatever its STATE: the look under the lock (the recheck) decides alone, and whoever
   links a node has just made it. That no four-tuple is ever twice in its chain rests on this rule and the lock.
8. close() takes the connection from the established chain first and from its port last. So a port without a node in
   the bind hash has no connection, and the search need not look for one, with or without locks.
9. A node taken out goes to the pool, which gives it out again when no reader can hold it (``epochs``). The locked form
   does the same; it has no readers, so nothing there ever waits.

An object is one worker's: one thread uses it at a time, and no two objects of a block have the same worker number.
Handles may pass from worker to worker. Calls return errors as numbers below 0, so that loops without the interpreter
can call them. A worker that dies between two calls leaves nothing locked; one that is killed inside a call may.
"""

from __future__ import annotations

import errno

from . import atomics
from .chains import NODE_MASK, Chains
from .epochs import Epochs
from .keys import Keys
from .layout import ADDRESSES, LINE, OWNER, OWNERS, PORTS, STATE, Layout
from .looks import LockedLook, RcuLook
from .pool import Pool

# The numbers of others once more: compiled, they are C integers.
_LINE = LINE
_STATE = STATE
_ADDRESSES = ADDRESSES
_PORTS = PORTS
_OWNER = OWNER
_OWNERS = OWNERS
_NODE_MASK = NODE_MASK
_EADDRINUSE = errno.EADDRINUSE
_EADDRNOTAVAIL = errno.EADDRNOTAVAIL
_ESTALE = errno.ESTALE


def locked_tables(layout: Layout, memory: memoryview[int], worker: int) -> Tables:
    """Return the tables of a block with every look under a lock. For arguments and errors see `Tables`."""
    return Tables(LockedLook, layout, memory, worker)


def rcu_tables(layout: Layout, memory: memoryview[int], worker: int) -> Tables:
    """Return the tables of a block with looks that take no lock. For arguments and errors see `Tables`."""
    return Tables(RcuLook, layout, memory, worker)


class Tables:
    """The tables in ``memory``, a block of ``layout`` cast to ``"Q"`` and all zeros at first, for one ``worker``.

    All who use a block take the same form of ``look``. Raises ``ValueError`` if ``memory`` is no such block, or
    ``layout`` has no such worker.
    """

    def __init__(self, look: type[LockedLook], layout: Layout, memory: memoryview[int], worker: int) -> None:
        layout.check(memory, worker)
        self._memory = memory
        self._words = atomics.words(memory)
        self._chains = Chains(layout, memory)
        self._look = look(self._chains, Epochs(layout, memory, worker))
        self._pool = Pool(layout, memory, worker)
        self._first_node = layout.first_node
        self._nodes = layout.nodes

    def connect(self, keys: Keys, start: int) -> int:
        """Claim a local port of ``keys`` that is free towards its destination, and return a handle.

        The ports are tried upwards from number ``start`` of the range (0 or more, modulo its size), and round. Returns
        -EADDRNOTAVAIL if all are taken; -ENOMEM if the block has no node left, -EAGAIN if readers may still hold the
        last ones.
        """
        size = keys.high - keys.low + 1
        for step in range(size):
            port = keys.low + (start + step) % size
            if self._look.taken(keys, port):
                continue
            result = self._claim(keys, port)
            if result != -_EADDRINUSE:
                return result
        return -_EADDRNOTAVAIL

    def lookup(self, keys: Keys, port: int) -> int:
        """Return the handle of the four-tuple of ``keys`` with local port ``port``, or -ENOENT."""
        return self._look.find(keys, port)

    def close(self, handle: int) -> int:
        """Give the four-tuple back and return 0; -ESTALE if ``handle`` is closed already or never was."""
        node = handle & _NODE_MASK
        if handle <= 0 or node == 0 or node > self._nodes:
            return -_ESTALE
        at = self._first_node + node * _LINE
        state = atomics.load(self._words, at + _STATE)
        if self._chains.handle(node) != handle or not atomics.replace(self._words, at + _STATE, state, state + 1):
            return -_ESTALE
        self._take_out(node)
        return 0

    def local_port(self, handle: int) -> int:
        """Return the local port of a handle that this worker holds."""
        return self._words[self._first_node + (handle & _NODE_MASK) * _LINE + _PORTS] >> 16

    # A handle, -EADDRINUSE or an error of the pool.
    def _claim(self, keys: Keys, port: int) -> int:
        bind = self._chains.bind_chain(port)
        self._chains.lock(bind)
        owner = self._chains.walk(bind, 0, port)
        result = self._add(keys, port, owner)
        self._chains.unlock(bind)
        return result

    # The port's chain is locked; owner is the port's node there, or 0.
    def _add(self, keys: Keys, port: int, owner: int) -> int:
        ports = keys.ports(port)
        chain = self._chains.established_chain(keys.addresses, ports)
        self._chains.lock(chain)
        result = -_EADDRINUSE
        if owner == 0 or self._chains.walk(chain, keys.addresses, ports) == 0:
            result = self._make(keys.addresses, ports, owner)
            if result > 0:
                self._chains.link(chain, result & _NODE_MASK)
        self._chains.unlock(chain)
        return result

    # A connection that is not yet in its chain, with an owner that is.
    def _make(self, addresses: int, ports: int, owner: int) -> int:
        node = self._pool.take()
        if node < 0:
            return node
        if owner == 0:
            owner = self._make_owner(ports >> 16)
            if owner < 0:
                self._pool.give(node)
                return owner
        at = self._first_node + node * _LINE
        self._words[at + _ADDRESSES] = addresses
        self._words[at + _PORTS] = ports
        self._words[at + _OWNER] = owner
        self._words[self._first_node + owner * _LINE + _OWNERS] += 1
        atomics.release(self._words, at + _STATE, atomics.load(self._words, at + _STATE) + 1)
        return self._chains.handle(node)

    def _make_owner(self, port: int) -> int:
        owner = self._pool.take()
        if owner > 0:
            at = self._first_node + owner * _LINE
            self._words[at + _ADDRESSES] = 0
            self._words[at + _PORTS] = port
            self._words[at + _OWNERS] = 0
            self._chains.link(self._chains.bind_chain(port), owner)
        return owner

    def _take_out(self, node: int) -> None:
        at = self._first_node + node * _LINE
        ports = self._words[at + _PORTS]
        owner = self._words[at + _OWNER]
        chain = self._chains.established_chain(self._words[at + _ADDRESSES], ports)
        self._chains.lock(chain)
        self._chains.unlink(chain, node)
        self._chains.unlock(chain)
        self._pool.give(node)
        chain = self._chains.bind_chain(ports >> 16)
        at = self._first_node + owner * _LINE
        self._chains.lock(chain)
        self._words[at + _OWNERS] -= 1
        if self._words[at + _OWNERS] == 0:
            self._chains.unlink(chain, owner)
            self._pool.give(owner)
        self._chains.unlock(chain)
