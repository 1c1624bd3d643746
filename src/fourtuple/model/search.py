"""The search: which local port connect() gets, by the features of a version.

1. A candidate is skipped without any lock if it is reserved.
2. With ``Look.IN_SEARCH`` its bind slot is walked under RCU: a bucket that bind() has poisoned, or a live socket with
   the four-tuple, ends the try. A TIME_WAIT socket with it does not: its port still costs both locks.
3. Under the lock of the bind slot: no bucket, and the port is new: no four-tuple with it can exist. A poisoned bucket
   ends the try. Any other bucket asks for a look into the established hash, under that lock too; with
   ``Look.IN_CHECK`` a live match is first looked for under RCU.
4. A TIME_WAIT socket with the four-tuple gives way if timestamps were in use, and tcp_tw_reuse lets it (for a port that
   the program bound itself: always).
5. Candidates come by parity: first that of the lower bound, from a start that the destination's hash and a hint
   decide; the other parity after it. The test for the end of the range is made against its upper bound, so that in a
   range of odd size, cut to an even number of tries, the last port is met or missed as the start falls.

Sources: kernel commits 07f4c90062f8 ("tcp/dccp: try to not exhaust ip_local_port_range in connect()"), 86c2bc293b81
("tcp: use RCU lookup in __inet_hash_connect()") and those in `fourtuple.model.versions`.
"""

from __future__ import annotations

from array import array
from typing import cast

from . import layout
from .buckets import Buckets
from .hashes import hash_32
from .randomness import Randomness
from .shortcuts import Shortcuts
from .tables import Tables
from .versions import EstablishedHash, Features, Look, Perturbation

_IN_CHECK, _IN_SEARCH = int(Look.IN_CHECK), int(Look.IN_SEARCH)
_ONCE = int(EstablishedHash.ONCE)
_HINT, _TABLE_256 = int(Perturbation.HINT), int(Perturbation.TABLE_256)
_TRY, _SKIP, _RESCHEDULE = 0, 1, 12  # of trace.ACTIONS
_32 = 0xFFFFFFFF
_ALL_PORTS = 0xFFFF


class Search:
    """connect()'s search over ``tables`` and ``buckets``, with ``features``.

    ``random`` also fills the hints, as the kernel's boot does. Set ``now`` (milliseconds), ``tw_reuse`` and
    ``tw_reuse_delay`` (milliseconds) before an operation. ``replaced`` is the TIME_WAIT record that the last one took
    the place of, out of the established hash already, or 0.
    """

    def __init__(self, tables: Tables, buckets: Buckets, features: Features, random: Randomness) -> None:
        self._tables = tables
        self._buckets = buckets
        self._random = random
        self._look = int(features.look)
        self._hash_kind = int(features.hash)
        self._perturbation = int(features.perturbation)
        self._by_one = features.local_range_by_one
        self._strict_fin_wait2 = features.strict_fin_wait2
        self._precise_delay = features.reuse_delay
        self._hints = array("I", [0] * (1, 256, 65536)[features.perturbation])
        if features.perturbation is not Perturbation.HINT:
            self._hints = array("I", [random.below(_32) for _ in self._hints])
        self.reserved = array("B", bytes(65536))
        self.now = 0
        self.tw_reuse = 2
        self.tw_reuse_delay = 1000
        self.replaced = 0
        self._sock = 0
        # Asked only where there are some.
        self._shortcuts = cast("Shortcuts", None)
        self._quick = False

    def take(self, shortcuts: Shortcuts | None) -> None:
        """Pass over what ``shortcuts`` know from here on, where that changes no count; None to look everywhere."""
        roomy = self._tables.bind_mask >= _ALL_PORTS and self._tables.established_mask >= _ALL_PORTS
        exact = self._look == _IN_SEARCH and self._hash_kind == _ONCE and not self._tables.recording
        self._quick = shortcuts is not None and roomy and exact
        self._shortcuts = cast("Shortcuts", shortcuts)

    def choose(self, sock: int, low: int, high: int, local_range: bool, port_offset: int, width: int) -> int:
        """Search ``low`` to ``high``, both included, for a port towards the peer that ``sock`` names; connect it.

        ``local_range``: they are the socket's own. ``port_offset``: the 64-bit hash of the destination. ``width``:
        ip_local_port_step_width, 0 for none. Returns the port, 0 when all are taken.
        """
        self._sock = sock
        self.replaced = 0
        self._tables.aim(sock)
        self._tables.prepare()
        high += 1
        one_pass = local_range and self._by_one
        step = 1 if one_pass else 2
        remaining = high - low
        if not one_pass and remaining > 1:
            remaining -= remaining & 1
        place = self._place(port_offset)
        offset = self._start(place, port_offset) % remaining
        if not one_pass:
            offset -= offset & 1
        stride = step
        if width and remaining > 1:
            stride = self._stride(remaining // step, width) * step
        passes = 1 if one_pass or remaining == 1 else 2
        quick = self._quick and stride == 2
        if quick:
            self._shortcuts.start()
        for parity in range(passes):
            port = low + offset + parity
            tried = 0
            while tried < remaining:
                if port >= high:
                    port -= remaining
                if quick:
                    slot = (port + self._tables.netns_mix) & self._tables.bind_mask
                    whole = slot & 30 == 0 and port + 30 < high and tried + 32 <= remaining
                    if whole and self._shortcuts.passed(port, slot):
                        tried += 32
                        port += 32
                        continue
                if self.reserved[port]:
                    self._tables.reserved += 1
                    self._tables.note(_SKIP, port)
                elif self._try(port):
                    self._move_hint(place, tried, step)
                    return port
                tried += step
                port += stride
        return 0

    def fix(self, sock: int) -> bool:
        """Connect ``sock`` from the port it has. Returns whether nobody had the four-tuple."""
        self._sock = sock
        self.replaced = 0
        self._tables.aim(sock)
        self._tables.prepare()
        port = self._tables.read(sock, layout.LOCAL_PORT)
        return self._check(port, True) != layout.TAKEN

    def _inserted_hash(self, port: int) -> int:
        # A socket that comes into the established hash without a check has its hash computed anew in every version.
        if self._hash_kind == _ONCE:
            return (self._tables.whole_hash(0) + port) & _32
        return self._tables.hash(port)

    def _place(self, port_offset: int) -> int:
        # Which hint is the destination's.
        if self._perturbation == _HINT:
            return 0
        if self._perturbation == _TABLE_256:
            return hash_32(port_offset & _32, 8)
        return port_offset & 0xFFFF

    def _start(self, place: int, port_offset: int) -> int:
        self._tables.touch(self._tables.hint_line + (place >> 4))
        if self._perturbation == _HINT or self._perturbation == _TABLE_256:
            return (self._hints[place] + port_offset) & _32
        return (self._hints[place] + (port_offset >> 32)) & _32

    def _move_hint(self, place: int, tried: int, step: int) -> None:
        if self._perturbation == _TABLE_256:
            if tried == 0 and self._random.below(16) == 0:
                tried = 2
        elif self._perturbation != _HINT:
            tried = max(tried, self._random.below(8) * step)
        self._hints[place] = (self._hints[place] + tried + step) & _32

    def _stride(self, size: int, width: int) -> int:
        # A random one of at most ``width`` that is coprime to the size, so that every candidate is met; else 1.
        bound = min(size, width)
        stride = 1 + self._random.below(bound)
        while stride <= bound and not _coprime(stride, size):
            stride += 1
        return stride if stride <= bound else 1

    def _try(self, port: int) -> bool:
        self._tables.candidates += 1
        if self._tables.recording:
            self._tables.note(_TRY, port)
        slot = (port + self._tables.netns_mix) & self._tables.bind_mask
        if self._look == _IN_SEARCH and self._tables.seen_taken(slot, port):
            return self._next(port)
        self._tables.lock_bind(slot)
        bucket = self._tables.find_bucket(slot, port)
        if bucket == 0:
            bucket = self._buckets.make_bucket(slot, port, self._tables.netns, self._tables.master)
            hashed = self._inserted_hash(port)
            self._tables.lock_established(hashed)
            self._connect(port, hashed)
        elif self._tables.poisoned(bucket) or self._check(port, False) == layout.TAKEN:
            return self._next(port)
        self._tables.write(self._sock, layout.FLAGS, self._tables.read(self._sock, layout.FLAGS) | layout.CONNECT_BOUND)
        self._buckets.share(self._sock, bucket)
        return True

    def _next(self, port: int) -> bool:
        self._tables.reschedules += 1
        if self._tables.recording:
            self._tables.note(_RESCHEDULE, port)
        return False

    def _check(self, port: int, explicit: bool) -> int:
        # The kernel's check_established(): FREE, and the socket is connected, or TAKEN.
        hashed = self._tables.hash(port)
        if self._look == _IN_CHECK and self._tables.seen_live(port, hashed):
            return layout.TAKEN
        self._tables.lock_established(hashed)
        found = self._tables.find(port, hashed)
        if found:
            if not self._tables.in_time_wait(found) or not self._gives_way(found, explicit):
                return layout.TAKEN
            self._tables.leave(found)
            self.replaced = found
        self._connect(port, hashed)
        return layout.FREE

    def _connect(self, port: int, hashed: int) -> None:
        self._tables.write(self._sock, layout.LOCAL_PORT, port)
        self._tables.write(self._sock, layout.STATE, layout.ESTABLISHED)
        self._tables.enter(self._sock, hashed)

    def _gives_way(self, record: int, explicit: bool) -> bool:
        if not self._tables.read(record, layout.FLAGS) & layout.TIMESTAMPS:
            return False
        if explicit:
            return True
        if self.tw_reuse == 0 or (self.tw_reuse == 2 and not self._loopback()):
            return False
        if self._strict_fin_wait2 and self._tables.read(record, layout.STATE) == layout.FIN_WAIT2:
            return False
        entered = self._tables.read(record, layout.ENTERED)
        if self._precise_delay:
            return self.now > entered + self.tw_reuse_delay
        return self.now // 1000 > entered // 1000

    def _loopback(self) -> bool:
        return self._tables.is_loopback(self._tables.local) or self._tables.is_loopback(self._tables.remote)


def _coprime(a: int, b: int) -> bool:
    while b:
        a, b = b, a % b
    return a == 1
