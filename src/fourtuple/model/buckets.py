"""Bind buckets and address buckets: how they come to be, who owns them, and when they go.

1. A bind bucket stands for a port of a network namespace (and l3mdev), and lists its address buckets.
2. An address bucket stands for a port and an address, and lists its owners: sockets and TIME_WAIT alike. Kernels
   before 6.1 list the owners in the bind bucket; they are modelled with the same lists, but what only the second hash
   costs (its locks, hashes, lines and allocations) is not counted for them.
3. A bucket lives as long as it has owners. Its fast fields are connect()'s (-1) or what bind() made of them; since
   kernel commit d57f4b874946 ("tcp: Update bind bucket state on port release") they return to -1 when all owners left
   are connect()'s.
"""

from __future__ import annotations

from array import array

from . import layout
from .hashes import jhash_1word, jhash_4words
from .tables import Tables

_LOCK_ADDRESS, _HASH_FOR, _MAKE, _FREE_BUCKET = 3, 7, 10, 11


class Buckets:
    """The buckets in ``tables``. ``address_buckets`` and ``restored_buckets`` are the features of those names."""

    def __init__(self, tables: Tables, *, address_buckets: bool, restored_buckets: bool) -> None:
        self._tables = tables
        self._slots = array("I", [0]) * (tables.bind_mask + 1)
        self._address_buckets = address_buckets
        self._restored_buckets = restored_buckets

    def address_slot(self, port: int, address: int, netns: int) -> int:
        """The slot of a port and an address in the second bind hash."""
        at = address * layout.ADDRESS_WORDS
        hashed = 0
        if (
            self._tables.is_four(address)
            or (
                self._tables.words[at]
                | self._tables.words[at + 1]
                | self._tables.words[at + 2]
                | self._tables.words[at + 3]
            )
            == 0
        ):
            hashed = jhash_1word(self._tables.words[at + 3], self._tables.mix(netns))
        else:
            hashed = jhash_4words(
                self._tables.words[at],
                self._tables.words[at + 1],
                self._tables.words[at + 2],
                self._tables.words[at + 3],
                self._tables.mix(netns),
            )
        if self._address_buckets:
            self._tables.hashes += 1
            self._tables.note(_HASH_FOR, port)
        return (hashed ^ port) & self._tables.bind_mask

    def lock_address(self, slot: int) -> None:
        """Take the lock of a slot of the second bind hash, where the kernel has one."""
        if self._address_buckets:
            self._tables.address_locks += 1
            self._tables.note(_LOCK_ADDRESS, slot)
            self._tables.touch(self._tables.address_line + (slot >> 2))

    def make_bucket(self, slot: int, port: int, netns: int, master: int) -> int:
        """A new bucket for a port, connect()'s until bind() says otherwise."""
        bucket = self._tables.make()
        self._tables.write(bucket, layout.PORT, port)
        self._tables.write(bucket, layout.BUCKET_NETNS, netns)
        self._tables.write(bucket, layout.L3MDEV, master)
        self._tables.write(bucket, layout.NEXT, self._tables.bind[slot])
        self._tables.bind[slot] = bucket
        self._tables.allocated += 1
        self._tables.note(_MAKE, bucket)
        self._tables.touch_record(bucket)
        return bucket

    def share(self, sock: int, bucket: int) -> None:
        """Make a socket an owner of a bucket, under its local address; the bind slot is locked."""
        port = self._tables.read(bucket, layout.PORT)
        netns = self._tables.read(bucket, layout.BUCKET_NETNS)
        address = self._tables.read(sock, layout.LOCAL)
        slot = self.address_slot(port, address, netns)
        self.lock_address(slot)
        part = self._slots[slot]
        while part:
            if self._address_buckets:
                self._tables.bind_nodes += 1
                self._tables.touch_record(part)
            if self._tables.read(part, layout.BUCKET) == bucket and self._tables.read(part, layout.ADDRESS) == address:
                break
            part = self._tables.read(part, layout.NEXT)
        if part == 0:
            part = self._tables.make()
            self._tables.write(part, layout.PORT, port)
            self._tables.write(part, layout.BUCKET_NETNS, netns)
            self._tables.write(part, layout.ADDRESS, address)
            self._tables.write(part, layout.BUCKET, bucket)
            self._tables.write(part, layout.SIBLING, self._tables.read(bucket, layout.ADDRESS_BUCKETS))
            self._tables.write(bucket, layout.ADDRESS_BUCKETS, part)
            self._tables.write(part, layout.NEXT, self._slots[slot])
            self._slots[slot] = part
            if self._address_buckets:
                self._tables.allocated += 1
                self._tables.note(_MAKE, part)
                self._tables.touch_record(part)
        self.own(sock, part)
        self._tables.write(sock, layout.LOCAL_PORT, port)

    def move(self, sock: int, address: int) -> None:
        """Change the local address of a socket that owns a share of a port."""
        part = self._tables.read(sock, layout.OWNED)
        bucket = self._tables.read(part, layout.BUCKET)
        old = self._tables.read(sock, layout.LOCAL)
        self.disown(sock)
        self._tables.write(sock, layout.LOCAL, address)
        self.share(sock, bucket)
        if self._tables.read(part, layout.OWNERS) == 0:
            port = self._tables.read(bucket, layout.PORT)
            self._destroy_part(
                part, bucket, self.address_slot(port, old, self._tables.read(bucket, layout.BUCKET_NETNS))
            )

    def release(self, sock: int) -> None:
        """End a socket's share of its port: buckets without an owner go, those of connect()'s alone are restored."""
        part = self._tables.read(sock, layout.OWNED)
        bucket = self._tables.read(part, layout.BUCKET)
        port = self._tables.read(bucket, layout.PORT)
        netns = self._tables.read(bucket, layout.BUCKET_NETNS)
        slot = self._tables.bind_slot(port, netns)
        self._tables.lock_bind(slot)
        self._tables.touch_record(bucket)
        address_slot = self.address_slot(port, self._tables.read(part, layout.ADDRESS), netns)
        self.lock_address(address_slot)
        self.disown(sock)
        if self._tables.read(part, layout.OWNERS) == 0:
            self._destroy_part(part, bucket, address_slot)
        if self._tables.read(bucket, layout.ADDRESS_BUCKETS) == 0:
            self._destroy_bucket(bucket, slot)
        elif self._restored_buckets:
            self._restore(bucket)

    def visit_owner(self, owner: int) -> None:
        """Count a look at an owner of a bucket."""
        self._tables.owner_nodes += 1
        self._tables.touch_record(owner)

    def own(self, sock: int, part: int) -> None:
        """Put a socket first among the owners of an address bucket."""
        first = self._tables.read(part, layout.OWNERS)
        self._tables.write(sock, layout.LATER, first)
        self._tables.write(sock, layout.EARLIER, 0)
        if first:
            self._tables.write(first, layout.EARLIER, sock)
        self._tables.write(part, layout.OWNERS, sock)
        self._tables.write(sock, layout.OWNED, part)

    def disown(self, sock: int) -> None:
        """Take a socket out of the owners of its address bucket, which stays."""
        later = self._tables.read(sock, layout.LATER)
        earlier = self._tables.read(sock, layout.EARLIER)
        if later:
            self._tables.write(later, layout.EARLIER, earlier)
        if earlier:
            self._tables.write(earlier, layout.LATER, later)
        else:
            self._tables.write(self._tables.read(sock, layout.OWNED), layout.OWNERS, later)
        self._tables.write(sock, layout.OWNED, 0)

    def _destroy_part(self, part: int, bucket: int, slot: int) -> None:
        node = self._slots[slot]
        if node == part:
            self._slots[slot] = self._tables.read(part, layout.NEXT)
        else:
            while self._tables.read(node, layout.NEXT) != part:
                node = self._tables.read(node, layout.NEXT)
            self._tables.write(node, layout.NEXT, self._tables.read(part, layout.NEXT))
        node = self._tables.read(bucket, layout.ADDRESS_BUCKETS)
        if node == part:
            self._tables.write(bucket, layout.ADDRESS_BUCKETS, self._tables.read(part, layout.SIBLING))
        else:
            while self._tables.read(node, layout.SIBLING) != part:
                node = self._tables.read(node, layout.SIBLING)
            self._tables.write(node, layout.SIBLING, self._tables.read(part, layout.SIBLING))
        if self._address_buckets:
            self._tables.touch_record(part)
            self._tables.freed += 1
            self._tables.note(_FREE_BUCKET, part)
        self._tables.drop(part)

    def _destroy_bucket(self, bucket: int, slot: int) -> None:
        node = self._tables.bind[slot]
        if node == bucket:
            self._tables.bind[slot] = self._tables.read(bucket, layout.NEXT)
        else:
            while self._tables.read(node, layout.NEXT) != bucket:
                node = self._tables.read(node, layout.NEXT)
            self._tables.write(node, layout.NEXT, self._tables.read(bucket, layout.NEXT))
        self._tables.freed += 1
        self._tables.note(_FREE_BUCKET, bucket)
        self._tables.drop(bucket)

    def _restore(self, bucket: int) -> None:
        if self._tables.read(bucket, layout.FAST_REUSE) == 0 and self._tables.read(bucket, layout.FAST_REUSEPORT) == 0:
            return
        part = self._tables.read(bucket, layout.ADDRESS_BUCKETS)
        while part:
            owner = self._tables.read(part, layout.OWNERS)
            while owner:
                self.visit_owner(owner)
                if self._tables.read(owner, layout.FLAGS) & layout.CONNECT_BOUND == 0:
                    return
                owner = self._tables.read(owner, layout.LATER)
            part = self._tables.read(part, layout.SIBLING)
        self._tables.write(bucket, layout.FAST_REUSE, 0)
        self._tables.write(bucket, layout.FAST_REUSEPORT, 0)
