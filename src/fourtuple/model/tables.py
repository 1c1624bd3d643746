"""The memory of the model: records in chains of hash tables, looks at them, and the count of every step.

1. A bind bucket lies in the chain of slot (port + its namespace's mix) of the bind hash.
2. A connected socket, or what TIME_WAIT keeps of it, lies in the chain of its hash in the established hash.
3. Every step is counted as it is made: `Tables` holds the counters of the operation under way, one attribute for each
   field of `fourtuple.model.trace.Trace`.
4. Lines are counted with the kernel's sizes: 16 bytes a bind slot, 8 an established slot, 4 a lock and 4 a hint; of a
   record the first line counts.

What a search asks for each candidate stands here together, so that one call answers it.
"""

from __future__ import annotations

from array import array

from . import layout
from .hashes import jhash_1word, jhash_3words
from .versions import EstablishedHash

_V4 = 4
_32 = 0xFFFFFFFF

_ADDITIVE, _ONCE = int(EstablishedHash.ADDITIVE), int(EstablishedHash.ONCE)
# Of trace.ACTIONS.
_LOCK_BIND, _LOCK_ESTABLISHED, _WALK_BIND, _WALK_ESTABLISHED = 2, 4, 5, 6
_HASH_FOR, _TOUCH_LINE, _TOUCH_RECORD = 7, 8, 9


class Tables:
    """The tables of a machine, empty.

    ``bind_slots``, ``established_slots`` and ``locks`` are powers of two. ``secret`` and ``secret_six`` salt the
    established hash, which ``hash_kind`` says how to compute.
    """

    def __init__(
        self,
        bind_slots: int,
        established_slots: int,
        locks: int,
        *,
        secret: int,
        secret_six: int,
        hash_kind: EstablishedHash,
    ) -> None:
        self.bind_mask = bind_slots - 1
        self.established_mask = established_slots - 1
        self.lock_mask = locks - 1
        self.bind = array("I", [0]) * bind_slots
        self.established = array("I", [0]) * established_slots
        self.address_line = bind_slots // 4 + 1
        self.established_line = self.address_line + bind_slots // 4 + 1
        self.lock_line = self.established_line + established_slots // 8 + 1
        self.hint_line = self.lock_line + locks // 16 + 1
        self._stamps = array("I", [0]) * (self.hint_line + 65536 // 16 + 1)
        self._secret = secret
        self._secret_six = secret_six
        self._hash_kind = int(hash_kind)
        self.pool = array("I", [0]) * (64 << layout.SHIFT)
        # The same words two by two: comparing them is most of what a search does.
        self._pairs = memoryview(self.pool).cast("B").cast("Q")
        self._spare = 0
        self._used = layout.FIRST
        self._free = 64 - layout.FIRST
        # Addresses by number: four words as a little-endian machine reads them, an IPv4 one in the last; the family.
        self.words = array("I", [0]) * layout.ADDRESS_WORDS
        self.operation = 0
        self.steps: list[tuple[int, int]] | None = None
        self.recording = False
        self.local = 0
        self.remote = 0
        self.remote_port = 0
        self.netns = 0
        self.device = 0
        self.master = 0
        self.netns_mix = 0
        self._addresses = 0
        self._realm = 0
        self._ports = 0
        self._bucket_realm = 0
        self._base = 0
        self.begin()

    def begin(self) -> None:
        """Start an operation: counters at zero, no line touched yet, and room for the records it may need."""
        self.clear()
        if self._free < 4:
            capacity = len(self.pool) >> layout.SHIFT
            grown = array("I", [0]) * (2 * len(self.pool))
            grown[: len(self.pool)] = array("I", self.pool)
            self.pool = grown
            self._pairs = memoryview(grown).cast("B").cast("Q")
            self._free += capacity
        if self.recording:
            self.steps = []

    def clear(self) -> None:
        """Start an operation that makes no more records than it drops, without recording."""
        self.operation = (self.operation + 1) & _32
        self.candidates = 0
        self.reserved = 0
        self.bind_locks = 0
        self.address_locks = 0
        self.established_locks = 0
        self.rcu_walks = 0
        self.bind_nodes = 0
        self.owner_nodes = 0
        self.established_nodes = 0
        self.hashes = 0
        self.slot_lines = 0
        self.record_lines = 0
        self.allocated = 0
        self.freed = 0
        self.reschedules = 0

    @property
    def cache_lines(self) -> int:
        """Distinct lines touched: counted in two numbers, since each waits for itself."""
        return self.slot_lines + self.record_lines

    def is_loopback(self, address: int) -> bool:
        """Whether a numbered address is of 127.0.0.0/8 or ::1."""
        at = address * layout.ADDRESS_WORDS
        if self.words[at + layout.FAMILY] == _V4:
            return self.words[at + 3] & 0xFF == 127
        return (self.words[at] | self.words[at + 1] | self.words[at + 2]) == 0 and self.words[at + 3] == 1 << 24

    def is_four(self, address: int) -> bool:
        """Whether a numbered address is of IPv4."""
        return self.words[address * layout.ADDRESS_WORDS + layout.FAMILY] == _V4

    def read(self, record: int, field: int) -> int:
        """A word of a record, without counting it as a step."""
        return self.pool[(record << layout.SHIFT) + field]

    def write(self, record: int, field: int, value: int) -> None:
        """Change a word of a record, without counting it as a step."""
        self.pool[(record << layout.SHIFT) + field] = value

    def make(self) -> int:
        """A fresh record, all zero but for its stamp. `begin` has made room for four."""
        record = self._spare
        if record:
            self._spare = self.read(record, layout.NEXT)
        else:
            record = self._used
            self._used = record + 1
        self._free -= 1
        for field in range(layout.STAMP):
            self.write(record, field, 0)
        return record

    def drop(self, record: int) -> None:
        """Give a record back."""
        self.write(record, layout.NEXT, self._spare)
        self._spare = record
        self._free += 1

    def note(self, action: int, number: int) -> None:
        """Record a step, where steps are recorded."""
        if self.recording:
            self._append(action, number)

    def touch(self, line: int) -> None:
        """Count a line of a table, once an operation."""
        if self._stamps[line] != self.operation:
            self._stamps[line] = self.operation
            self.slot_lines += 1
            if self.recording:
                self._append(_TOUCH_LINE, line)

    def touch_slots(self, port: int, slot: int) -> None:
        """Count the lines of 16 bind slots, every second from ``slot`` on, and of the established slots of their ports.

        For hashes to which the port is added.
        """
        first = self._base + port
        for place in range(8):
            self.touch((slot >> 2) + place)
        for place in range(0, 32, 8):
            self.touch(self.established_line + (((first + place) & self.established_mask) >> 3))
        self.touch(self.established_line + (((first + 30) & self.established_mask) >> 3))

    def touch_record(self, record: int) -> None:
        """Count the line of a record, once an operation."""
        if self.read(record, layout.STAMP) != self.operation:
            self.write(record, layout.STAMP, self.operation)
            self.record_lines += 1
            if self.recording:
                self._append(_TOUCH_RECORD, record)

    # Slots and locks.

    def mix(self, netns: int) -> int:
        """What a namespace adds to its hashes; 0 for the first."""
        return jhash_1word(netns, self._secret) if netns else 0

    def bind_slot(self, port: int, netns: int) -> int:
        """The slot of a port in the bind hash."""
        return (port + self.mix(netns)) & self.bind_mask

    def lock_bind(self, slot: int) -> None:
        """Take the lock of a bind slot, which lies beside the head of its chain."""
        self.bind_locks += 1
        self.note(_LOCK_BIND, slot)
        self.touch(slot >> 2)

    def lock_established(self, hashed: int) -> None:
        """Take the lock that the slot of a hash shares with others, and look at the slot."""
        self.established_locks += 1
        self.note(_LOCK_ESTABLISHED, hashed & self.established_mask)
        self.touch(self.lock_line + ((hashed & self.lock_mask) >> 4))
        self.touch(self.established_line + ((hashed & self.established_mask) >> 3))

    # Looks for a four-tuple.

    def aim(self, sock: int) -> None:
        """Look for a socket's four-tuple, its port left open, from here on."""
        self.local = self.read(sock, layout.LOCAL)
        self.remote = self.read(sock, layout.REMOTE)
        self.remote_port = self.read(sock, layout.REMOTE_PORT)
        self.netns = self.read(sock, layout.NETNS)
        self.device = self.read(sock, layout.DEVICE)
        self.master = self.read(sock, layout.MASTER)
        self.netns_mix = self.mix(self.netns)
        # What is looked for, as it lies in a record.
        self._addresses = self._pairs[(sock << layout.PAIRS) + layout.ADDRESSES]
        self._realm = self._pairs[(sock << layout.PAIRS) + layout.REALM]
        self._ports = self.remote_port
        self._ports <<= 32
        self._bucket_realm = self.master
        self._bucket_realm = self._bucket_realm << 32 | self.netns

    def prepare(self) -> None:
        """Compute what the hashes of all candidates have in common, where the version does that once."""
        if self._hash_kind == _ONCE:
            self._base = self.whole_hash(0)

    def whole_hash(self, port: int) -> int:
        """The established hash of the four-tuple with ``port``, computed anew."""
        here = self.local * layout.ADDRESS_WORDS
        there = self.remote * layout.ADDRESS_WORDS
        # The local port as a number, the remote one as it lies in memory on a little-endian machine.
        ports = (port << 16 | (self.remote_port & 0xFF) << 8 | self.remote_port >> 8) & _32
        salt = (self._secret + self.netns_mix) & _32
        self.note(_HASH_FOR, port)
        if self.is_four(self.local):
            self.hashes += 1
            return jhash_3words(self.words[here + 3], self.words[there + 3], ports, salt)
        self.hashes += 2
        first = self.words[there] ^ self.words[there + 1]
        far = jhash_3words(first, self.words[there + 2], self.words[there + 3], self._secret_six)
        return jhash_3words(self.words[here + 3], far, ports, salt)

    def hash(self, port: int) -> int:
        """The established hash of the four-tuple with ``port``, computed as the version does in its search."""
        if self._hash_kind == _ONCE:
            return (self._base + port) & _32
        if self._hash_kind == _ADDITIVE:
            return (self.whole_hash(0) + port) & _32
        return self.whole_hash(port)

    def poisoned(self, bucket: int) -> bool:
        """Whether bind() made the bucket one that connect() shuns."""
        return self._pairs[(bucket << layout.PAIRS) + layout.FAST] != 0

    def seen_taken(self, slot: int, port: int) -> bool:
        """Walk a bind slot under RCU. Returns whether the port is poisoned, or a live socket has the four-tuple."""
        self.rcu_walks += 1
        self.note(_WALK_BIND, slot)
        self.touch(slot >> 2)
        bucket = self._walk_bind(slot, port)
        if bucket == 0:
            return False
        return self.poisoned(bucket) or self.seen_live(port, self.hash(port))

    def seen_live(self, port: int, hashed: int) -> bool:
        """Walk an established slot under RCU. Returns whether a live socket has the four-tuple."""
        slot = hashed & self.established_mask
        self.rcu_walks += 1
        self.note(_WALK_ESTABLISHED, slot)
        self.touch(self.established_line + (slot >> 3))
        found = self.find(port, hashed)
        return found != 0 and not self.in_time_wait(found)

    def in_time_wait(self, record: int) -> bool:
        """Whether a record of the established hash is what a closed connection left."""
        state = self.read(record, layout.STATE)
        return state == layout.TIME_WAIT or state == layout.FIN_WAIT2

    def find(self, port: int, hashed: int) -> int:
        """Walk an established slot for the four-tuple; 0 when nobody has it."""
        ports = self._ports | port
        node = self.established[hashed & self.established_mask]
        while node:
            self.established_nodes += 1
            self.touch_record(node)
            at = node << layout.PAIRS
            if (
                self._pairs[at + layout.PORTS] == ports
                and self._pairs[at + layout.ADDRESSES] == self._addresses
                and self.read(node, layout.HASH) == hashed
                and (self._pairs[at + layout.REALM] == self._realm or self._pairs[at + layout.REALM] == self.netns)
            ):
                return node
            node = self.read(node, layout.NEXT)
        return 0

    def find_bucket(self, slot: int, port: int) -> int:
        """Walk a bind slot for the bucket of a port, in the namespace and the VRF aimed at; 0 when there is none."""
        return self._walk_bind(slot, port)

    def _walk_bind(self, slot: int, port: int) -> int:
        bucket = self.bind[slot]
        while bucket:
            self.bind_nodes += 1
            self.touch_record(bucket)
            if (
                self.read(bucket, layout.PORT) == port
                and self._pairs[(bucket << layout.PAIRS) + layout.BUCKET_REALM] == self._bucket_realm
            ):
                return bucket
            bucket = self.read(bucket, layout.NEXT)
        return 0

    # The established hash.

    def enter(self, sock: int, hashed: int) -> None:
        """Put a socket into the chain of its hash, first; the slot is locked."""
        slot = hashed & self.established_mask
        self.write(sock, layout.HASH, hashed)
        self.write(sock, layout.NEXT, self.established[slot])
        self.established[slot] = sock
        self.touch_record(sock)

    def leave(self, sock: int) -> None:
        """Take a socket out of the established hash; the slot is locked."""
        slot = self.read(sock, layout.HASH) & self.established_mask
        after = self.read(sock, layout.NEXT)
        self.touch_record(sock)
        node = self.established[slot]
        if node == sock:
            self.established[slot] = after
            return
        while self.read(node, layout.NEXT) != sock:
            node = self.read(node, layout.NEXT)
        self.write(node, layout.NEXT, after)

    def _append(self, action: int, number: int) -> None:
        if self.steps is not None:
            self.steps.append((action, number))
