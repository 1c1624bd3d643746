"""The port space: which source port the next connection to one destination gets.

A port space holds the source ports of one (source address, destination address and port) pair. It proposes; the kernel
stays the judge. A wrong guess therefore costs one rejected try and never a wrong connection, and nothing here has to
be complete: it has to be right nearly always, and cheap always.

Every port is in one state, and moves like this:

    state      meaning                                    enters by                       leaves by
    FREE       no known owner                             at first; release(FREED);       take
                                                          its wait in COOLING is over
    LEASED     ours: take() gave it out, or the kernel    take, adopt                     release, reject
               chose it and adopt() told us
    COOLING    ours until just now; the kernel keeps it   release(TIME_WAIT),             the wait is over; adopt
               in TIME_WAIT or FIN_WAIT2                  release(TIME_WAIT_KEPT), and
                                                          the next reject(TAKEN) after
    FOREIGN    somebody else's: the kernel refused it,    any other reject(TAKEN),        take, once its retry is due
               or our descriptor went out of our sight    release(DETACHED)               and nothing is FREE; adopt
    EXCLUDED   never to be proposed: reserved, or         at first; reject(OUTSIDE)       nothing
               outside the kernel's range

Rules, and why the numbers are what they are:

1. The longest-free port goes first. A port that was just given back may still be in LAST_ACK at our end or TIME_WAIT
   at the other, for one round trip or for a minute; every other free port is a safer guess.
2. Ports never used yet count as free the longest. They are visited along low + (start + i * stride) mod size, with a
   stride coprime to the size, so each is met once, two processes with strides of their own do not follow one another
   port by port, and the next port is no plain count for an observer (RFC 6056 wants them hard to guess). A port used
   for the first time, by take or adopt, gets the next row ("slot") of the arrays, and a hash table in them finds it
   again: a space that has used 50 ports holds arrays of 64, wherever they lie and whoever chose them. The table hashes
   by i, so ports that take chose have a bucket each, and buckets are at least as many as ports.
3. Each queue has one waiting time, so its order of arrival is its order of release and only heads need a look.
   TIME_WAIT lasts 60 s (TCP_TIMEWAIT_LEN) and may be reused sooner, after ``reuse_delay`` (see ``timewait``).
4. A port refused at its first proposal after TIME_WAIT is still ours: the peer has not closed yet, and the kernel keeps
   the port in FIN_WAIT2, up to 60 s (tcp_fin_timeout), before TIME_WAIT; it reuses none from there (kernel commit
   0d9e5df4a257 ("tcp: avoid reusing FIN_WAIT2 when trying to find port in connect() process")). The port rests once
   more, ``time_wait`` from the refusal: FIN_WAIT2 ends within 60 s of our close, and TIME_WAIT then asks for the wait
   that already went before the refusal. Refused after that, the port is FOREIGN.
5. A foreign port is retried after 1/8 s, then after twice the wait before, up to 64 s: 1/8 s lets a LAST_ACK across a
   slow path or a lost race pass, 64 s outlasts a TIME_WAIT of 60 s, and a port held for hours costs one try in 64 s.
   It is tried only when nothing is FREE: while there is choice, suspicion costs nothing. A detached port is tried at
   once then: most are closed by then (uvloop detaches each socket as it closes it).
6. take() moves at most two ports out of each cooling queue. One would replace the port it gives out; with two the
   queues drain while they are used, the counts are true soon, and each call stays O(1). Passing over ports that are
   EXCLUDED or were adopted is O(1) amortised, since each is passed once; so is the growing of the arrays.

Nothing here reads a clock or the system: time comes in as ``now``, in seconds on any monotonic clock. Calls on one
space must not overlap. The arrays are flat C arrays once compiled (see the .pxd), and take, release, reject and adopt
then run without the interpreter. ``lend`` and its kin are the same for callers in Python, whom a signal can interrupt
between any two steps.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from math import gcd, isfinite
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class How(IntEnum):
    """How a leased port came back: what the kernel still does with its four-tuple."""

    FREED = 0
    """Nothing is left: never connected, reset, or the peer closed first (at most LAST_ACK, a round trip)."""
    TIME_WAIT = 1
    """We closed first with timestamps in use: reusable after the space's ``reuse_delay``."""
    TIME_WAIT_KEPT = 2
    """We closed first without timestamps: the kernel never reuses it before TIME_WAIT ends."""
    DETACHED = 3
    """The descriptor lives on where we cannot see it close."""


class Reason(IntEnum):
    """Why the kernel did not take a proposed port."""

    TAKEN = 0
    """It has another owner (EADDRNOTAVAIL from connect, EADDRINUSE from bind)."""
    OUTSIDE = 1
    """It is not in the kernel's local port range, or is reserved or privileged."""


class Census(NamedTuple):
    """How many ports of a space are in each state; they sum to its size."""

    free: int
    leased: int
    cooling: int
    foreign: int
    excluded: int


class Loan:
    """Where a space writes the port that it lends: ``port``, and ``held`` until it is given back.

    It is written in the same step as the space's own books, so that no interruption comes between the two.
    """

    def __init__(self) -> None:
        self.port = 0
        self.held = False


# A place is a state and, for the waiting states, the queue the port waits in.
_FREE = 0
_COOLING = 1
_COOLING_LONG = 2
_LEASED = 3
_EXCLUDED = 4
_DETACHED = 5
_FOREIGN = 6  # and the queues after it, one for each retry wait

_RETRIES = 10
_FIRST_RETRY = 0.125  # seconds; doubles _RETRIES - 1 times, to 64 s
_PLACES = _FOREIGN + _RETRIES

# The enums' values once more as plain integers: compiled, they are C constants.
_HOW_FREED = 0
_HOW_TIME_WAIT = 1
_HOW_TIME_WAIT_KEPT = 2
_HOW_DETACHED = 3
_REASON_OUTSIDE = 1

_STILL_OURS = -1  # strikes after TIME_WAIT: the next refusal does not count yet

_NIL = 0xFFFF  # no slot: a range of at most 65535 ports has slots up to 65534
_FIRST_CAPACITY = 16


class PortSpace:
    """The source ports ``low`` to ``high``, both included, towards one destination.

    ``excluded`` is a bitmap of ports never to propose (port p is bit p & 7 of byte p >> 3; shorter maps end in zeros),
    as ``fourtuple.linux.sysctl.reserved_ports`` returns it. ``reuse_delay`` and ``time_wait`` are seconds: how long a
    port in TIME_WAIT must wait, with and without timestamps. ``start`` and ``stride`` fix the order of first use;
    ``stride`` must be coprime to the size, see ``coprime_stride``.

    ``leased``, ``cooling``, ``foreign`` and ``excluded`` count the ports in these states. ``changes`` counts the calls
    that changed any, so that two looks at the space can be told apart.

    Memory: 20 bytes for each port ever used, in steps of powers of two: 1.3 KiB for up to 64 ports, 551 KiB for the
    whole default range of 28,232. The bitmap is shared, not copied. ``memory`` tells.

    Raises ValueError, naming the argument, for a range that is none, negative times or a stride that is not coprime.
    """

    def __init__(
        self,
        low: int,
        high: int,
        *,
        excluded: bytes = b"",
        reuse_delay: float = 1.0,
        time_wait: float = 60.0,
        start: int = 0,
        stride: int = 1,
    ) -> None:
        if not 1 <= low <= high <= 65535:
            raise ValueError(f"low, high: {low}-{high} is no port range; they must be 1 <= low <= high <= 65535")
        if not (isfinite(time_wait) and time_wait >= 0):
            raise ValueError(f"time_wait must be 0 or more seconds, not {time_wait}")
        if not (isfinite(reuse_delay) and reuse_delay >= 0):
            raise ValueError(f"reuse_delay must be 0 or more seconds, not {reuse_delay}")
        size = high - low + 1
        if not 0 <= start < size:
            raise ValueError(f"start must be a place in the range, 0 to {size - 1}, not {start}")
        if not 1 <= stride <= size or gcd(stride, size) != 1:
            raise ValueError(f"stride must be 1 to {size} and coprime to the {size} ports of the range, not {stride}")
        self.low = low
        self.high = high
        self.size = size
        self.reuse_delay = min(reuse_delay, time_wait)
        self.time_wait = time_wait
        self.start = start
        self.stride = stride
        self._inverse = pow(stride, -1, size) if size > 1 else 0
        self._bitmap = excluded if len(excluded) > high >> 3 else excluded.ljust((high >> 3) + 1, b"\0")
        self.leased = 0
        self.cooling = 0
        self.foreign = 0
        self.excluded = _ones(self._bitmap, low, high)
        self.changes = 0
        self._cursor = 0
        self._used = 0
        self._capacity = 0
        self._head = array("H", [_NIL] * _PLACES)
        self._tail = array("H", [_NIL] * _PLACES)
        self._resize(min(size, _FIRST_CAPACITY))

    @property
    def free(self) -> int:
        """Ports with no known owner, those never used included."""
        return self.size - self.leased - self.cooling - self.foreign - self.excluded

    @property
    def memory(self) -> int:
        """Bytes held by the arrays."""
        return 20 * self._capacity + 4 * _PLACES

    def census(self) -> Census:
        """The number of ports in each state."""
        return Census(self.free, self.leased, self.cooling, self.foreign, self.excluded)

    def take(self, now: float) -> int:
        """Lease a port and return it, or 0 when none is known to be free: port 0 lets the kernel choose."""
        self._make_room()
        self._mature(_COOLING, now)
        self._mature(_COOLING_LONG, now)
        slot = self._first_use()
        if slot == _NIL:
            slot = self._head[_FREE]
            if slot == _NIL:
                slot = self._due_retry(now)
                if slot == _NIL:
                    return 0
            self._unlink(slot)
        self._lease(slot)
        return self._port[slot]

    def release(self, port: int, how: int, now: float) -> bool:
        """Give back a leased port; ``how`` is a ``How``. False, and nothing changes, when it was not leased."""
        slot = self._leased_slot(port)
        if slot == _NIL:
            return False
        self.leased -= 1
        self.changes += 1
        self._strikes[slot] = _STILL_OURS if how == _HOW_TIME_WAIT or how == _HOW_TIME_WAIT_KEPT else 0
        if how == _HOW_FREED or (how == _HOW_TIME_WAIT and self.reuse_delay <= 0):
            self._link(slot, _FREE, now)
        elif how == _HOW_DETACHED:
            self._link(slot, _DETACHED, now)
        elif how == _HOW_TIME_WAIT and self.reuse_delay < self.time_wait:
            self._link(slot, _COOLING, now + self.reuse_delay)
        else:
            self._link(slot, _COOLING_LONG, now + self.time_wait)
        return True

    def reject(self, port: int, reason: int, now: float) -> bool:
        """Tell that the kernel refused a leased port; ``reason`` is a ``Reason``. False when it was not leased."""
        slot = self._leased_slot(port)
        if slot == _NIL:
            return False
        self.leased -= 1
        self.changes += 1
        if reason == _REASON_OUTSIDE:
            self._place[slot] = _EXCLUDED
            self.excluded += 1
        else:
            self._suspect(slot, now)
        return True

    def adopt(self, port: int) -> bool:
        """Lease the port that the kernel chose by itself.

        False when the space cannot account for it: outside, excluded, or leased already.
        """
        if port < self.low or port > self.high or self._is_excluded(port):
            return False
        self._make_room()
        turn = self._turn(port)
        slot = self._find(port, turn)
        if slot == _NIL:
            slot = self._new_slot(port, turn)
        elif self._place[slot] == _LEASED or self._place[slot] == _EXCLUDED:
            return False
        else:
            self._unlink(slot)
        self._lease(slot)
        return True

    def lend(self, loan: Loan, now: float) -> bool:
        """take() into a loan; False when no port is known to be free."""
        port = self.take(now)
        if port == 0:
            return False
        loan.port = port
        loan.held = True
        return True

    def lend_chosen(self, loan: Loan, port: int) -> bool:
        """adopt() into a loan."""
        if not self.adopt(port):
            return False
        loan.port = port
        loan.held = True
        return True

    def end(self, loan: Loan, how: int, now: float) -> bool:
        """release() of what is on loan; False when it ended before."""
        if not loan.held:
            return False
        loan.held = False
        return self.release(loan.port, how, now)

    def refuse(self, loan: Loan, reason: int, now: float) -> bool:
        """reject() of what is on loan; False when it ended before."""
        if not loan.held:
            return False
        loan.held = False
        return self.reject(loan.port, reason, now)

    def next_free(self, now: float) -> float | None:
        """Seconds until the first cooling port is free again, 0.0 when it is due, None when none is cooling."""
        heads = [self._head[_COOLING], self._head[_COOLING_LONG]]
        waits = [self._due[head] - now for head in heads if head != _NIL]
        return max(0.0, min(waits)) if waits else None

    def last_resort(self, most: int) -> list[int] | None:
        """The foreign ports, when they are at most ``most`` and all that is not leased or excluded; None otherwise.

        To be tried one by one, due or not: no other port can be free, so the kernel's search through all could not find
        more. Cooling ports would be pushed back by a try that comes too soon, so with any of them it is None.
        """
        if self.free or self.cooling or self.foreign > most:
            return None
        ports: list[int] = []
        for place in range(_DETACHED, _PLACES):
            slot = self._head[place]
            while slot != _NIL:
                ports.append(self._port[slot])
                slot = self._next[slot]
        return ports

    def reshaped(
        self, low: int, high: int, *, excluded: bytes, reuse_delay: float, start: int, stride: int
    ) -> PortSpace:
        """A space for a range, reserved ports or a delay that changed, with what is known of the ports in both.

        Leases of ports outside the new range are forgotten: release() answers False for them. Ports known to be free
        keep their order of release, behind those never used.
        """
        new = PortSpace(
            low,
            high,
            excluded=excluded,
            reuse_delay=reuse_delay,
            time_wait=self.time_wait,
            start=start,
            stride=stride,
        )
        for port, place, strikes, due in self._known():
            new._restore(port, place, strikes, due)
        return new

    def _known(self) -> Iterator[tuple[int, int, int, float]]:
        # Waiting ports in the order of their queues, then the leased ones: what _restore needs of each.
        for place in range(_PLACES):
            slot = self._head[place]
            while slot != _NIL:
                yield self._port[slot], place, self._strikes[slot], self._due[slot]
                slot = self._next[slot]
        for slot in range(self._used):
            if self._place[slot] == _LEASED:
                yield self._port[slot], _LEASED, self._strikes[slot], 0.0

    def _restore(self, port: int, place: int, strikes: int, due: float) -> None:
        # adopt() knows which ports are ours to account for; the place is then put right.
        if not self.adopt(port):
            return
        slot = self._find(port, self._turn(port))
        self._strikes[slot] = strikes
        if place != _LEASED:
            self.leased -= 1
            self._link(slot, place, due)

    def _lease(self, slot: int) -> None:
        self._place[slot] = _LEASED
        self.leased += 1
        self.changes += 1

    def _turn(self, port: int) -> int:
        # A port's place in the order of first use.
        steps = port - self.low - self.start
        if steps < 0:
            steps += self.size
        return steps * self._inverse % self.size

    def _find(self, port: int, turn: int) -> int:
        # The port's slot, _NIL when it was never used. Mostly take() chose them all, in turn: a look there is cheapest.
        if turn < self._used and self._port[turn] == port:
            return turn
        slot = self._bucket[self._hash(turn)]
        while slot != _NIL and self._port[slot] != port:
            slot = self._chain[slot]
        return slot

    def _leased_slot(self, port: int) -> int:
        if port < self.low or port > self.high:
            return _NIL
        slot = self._find(port, self._turn(port))
        if slot == _NIL or self._place[slot] != _LEASED:
            return _NIL
        return slot

    def _new_slot(self, port: int, turn: int) -> int:
        slot = self._used
        self._used = slot + 1
        self._port[slot] = port
        self._enter(slot, turn)
        return slot

    def _enter(self, slot: int, turn: int) -> None:
        # Into the hash table: a bucket is the first slot of a chain.
        bucket = self._hash(turn)
        self._chain[slot] = self._bucket[bucket]
        self._bucket[bucket] = slot

    def _hash(self, turn: int) -> int:
        # The remainder, without a division where there is nothing to divide.
        return turn if turn < self._capacity else turn % self._capacity

    def _is_excluded(self, port: int) -> bool:
        return (self._bitmap[port >> 3] >> (port & 7)) & 1 != 0

    def _first_use(self) -> int:
        # A slot for the next port never used, _NIL once all have been. Those restored or adopted are passed over.
        while self._cursor < self.size:
            turn = self._cursor
            self._cursor = turn + 1
            port = self.low + (self.start + turn * self.stride) % self.size
            if not self._is_excluded(port) and self._find(port, turn) == _NIL:
                return self._new_slot(port, turn)
        return _NIL

    def _mature(self, place: int, now: float) -> None:
        moves = 0
        while moves < 2:
            slot = self._head[place]
            if slot == _NIL or self._due[slot] > now:
                return
            self._unlink(slot)
            self._link(slot, _FREE, now)
            moves += 1

    def _due_retry(self, now: float) -> int:
        # Never refused first, then the fewest refusals: those are the likeliest to have been a passing thing.
        for place in range(_DETACHED, _PLACES):
            slot = self._head[place]
            if slot != _NIL and self._due[slot] <= now:
                return slot
        return _NIL

    def _suspect(self, slot: int, now: float) -> None:
        strikes = self._strikes[slot]
        if strikes == _STILL_OURS:
            self._link(slot, _COOLING_LONG, now + self.time_wait)
        else:
            self._link(slot, _FOREIGN + strikes, now + _FIRST_RETRY * (1 << strikes))
        if strikes < _RETRIES - 1:
            self._strikes[slot] = strikes + 1

    def _link(self, slot: int, place: int, due: float) -> None:
        # To the tail of a queue.
        tail = self._tail[place]
        self._prev[slot] = tail
        self._next[slot] = _NIL
        if tail == _NIL:
            self._head[place] = slot
        else:
            self._next[tail] = slot
        self._tail[place] = slot
        self._place[slot] = place
        self._due[slot] = due
        self._count(place, 1)

    def _unlink(self, slot: int) -> None:
        place = self._place[slot]
        before = self._prev[slot]
        after = self._next[slot]
        if before == _NIL:
            self._head[place] = after
        else:
            self._next[before] = after
        if after == _NIL:
            self._tail[place] = before
        else:
            self._prev[after] = before
        self._count(place, -1)

    def _count(self, place: int, change: int) -> None:
        if place == _COOLING or place == _COOLING_LONG:
            self.cooling += change
        elif place >= _DETACHED:
            self.foreign += change

    def _make_room(self) -> None:
        # For one more slot, unless every port has one. It comes before any look at the space, since it may run
        # finalisers, which may use the space.
        while self._used == self._capacity and self._used < self.size:
            self._resize(min(self.size, 2 * self._capacity))

    def _resize(self, capacity: int) -> None:
        # All objects are made first: that can run finalisers, which may use and even grow this space. From there on
        # nothing comes between.
        port = array("H", [0]) * capacity
        chain = array("H", [0]) * capacity
        bucket = array("H", [_NIL]) * capacity
        after = array("H", [0]) * capacity
        before = array("H", [0]) * capacity
        place = array("B", [0]) * capacity
        strikes = array("b", [0]) * capacity
        due = array("d", [0]) * capacity
        if self._capacity >= capacity:
            return
        for slot in range(self._used):
            port[slot] = self._port[slot]
            after[slot] = self._next[slot]
            before[slot] = self._prev[slot]
            place[slot] = self._place[slot]
            strikes[slot] = self._strikes[slot]
            due[slot] = self._due[slot]
        self._port = port
        self._chain = chain
        self._bucket = bucket
        self._next = after
        self._prev = before
        self._place = place
        self._strikes = strikes
        self._due = due
        self._capacity = capacity
        for slot in range(self._used):
            self._enter(slot, self._turn(self._port[slot]))


def coprime_stride(size: int, seed: int) -> int:
    """A stride for ``PortSpace`` that is coprime to ``size``: the first at or after ``seed`` modulo ``size``."""
    if size < 1:
        raise ValueError(f"size must be 1 or more, not {size}")
    stride = seed % size
    while stride == 0 or gcd(stride, size) != 1:
        stride = stride % size + 1
    return stride


def _ones(bitmap: bytes, low: int, high: int) -> int:
    bits = int.from_bytes(bitmap, "little") >> low
    return (bits & ((1 << (high - low + 1)) - 1)).bit_count()
