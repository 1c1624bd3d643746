"""bind() and listen(): whether a socket may own a port, and what that makes of the port's bucket.

1. Two owners get along if their addresses or devices do not overlap, if both are SO_REUSEADDR and the other does not
   listen, or if both are SO_REUSEPORT. (All sockets here belong to one user.) The scan of all owners is left out where
   the fast fields of the bucket say that it would find nothing.
2. The first owner sets the fast fields. Later, one without SO_REUSEADDR clears fastreuse and one without SO_REUSEPORT
   fastreuseport; so a bucket of connect()'s becomes bind()'s, which connect() shuns.
3. Port 0: odd ports of the half of the range first, when SO_REUSEADDR is set; then the even ones; then the other half.

Sources: ``inet_csk_get_port()``, kernel commits 07f4c90062f8 ("tcp/dccp: try to not exhaust ip_local_port_range in
connect()") and ea8add2b1903 ("tcp/dccp: better use of ephemeral ports in bind()").
"""

from __future__ import annotations

from . import layout
from .addresses import Addresses
from .buckets import Buckets
from .randomness import Randomness
from .search import Search
from .tables import Tables

# fastreuseport, with 1 added like all fast fields.
_NO, _EVERY_ADDRESS, _SAME_ADDRESS = 1, 2, 3
_YES = 2
_HALVED_FROM = 4  # a range smaller than this is not halved


class Binding:
    """Ports for sockets that ask for one."""

    def __init__(
        self, tables: Tables, buckets: Buckets, search: Search, random: Randomness, *, address_buckets: bool
    ) -> None:
        self._tables = tables
        self._buckets = buckets
        self._search = search
        self._random = random
        self._address_buckets = address_buckets

    def take(self, sock: int, port: int) -> bool:
        """Make ``sock`` an owner of ``port``, or of its own port one that listens. Returns whether it may."""
        slot, bucket = self._look(sock, port)
        if bucket and not self._fast(sock, bucket) and self._conflicts(sock, bucket, relax=True):
            return False
        self._own(sock, slot, bucket, port)
        return True

    def take_any(self, sock: int, low: int, high: int) -> int:
        """Make ``sock`` an owner of a port between ``low`` and ``high``, both included. Returns it, 0 for none."""
        for start, end in self._parts(sock, low, high + 1):
            remaining = end - start
            if remaining > 1:
                remaining &= ~1
            offset = self._random.below(remaining) | 1
            for first in (offset, offset - 1):
                port = start + first
                for _ in range(0, remaining, 2):
                    if port >= end:
                        port -= remaining
                    if not self._search.reserved[port] and self._take_quietly(sock, port):
                        return port
                    port += 2
        return 0

    def _parts(self, sock: int, low: int, high: int) -> list[tuple[int, int]]:
        if not self._flag(sock, layout.REUSE) or high - low < _HALVED_FROM:
            return [(low, high)]
        half = low + ((high - low) >> 2 << 1)
        return [(low, half), (half, high)]

    def _take_quietly(self, sock: int, port: int) -> bool:
        slot, bucket = self._look(sock, port)
        if bucket and self._conflicts(sock, bucket, relax=False):
            return False
        self._own(sock, slot, bucket, port)
        return True

    def _look(self, sock: int, port: int) -> tuple[int, int]:
        tables = self._tables
        tables.aim(sock)
        slot = tables.bind_slot(port, tables.netns)
        tables.lock_bind(slot)
        return slot, tables.find_bucket(slot, port)

    def _own(self, sock: int, slot: int, bucket: int, port: int) -> None:
        tables = self._tables
        if not bucket:
            netns, master = tables.read(sock, layout.NETNS), tables.read(sock, layout.MASTER)
            bucket = self._buckets.make_bucket(slot, port, netns, master)
        self._mark(sock, bucket)
        if not tables.read(sock, layout.OWNED):
            self._buckets.share(sock, bucket)

    def _mark(self, sock: int, bucket: int) -> None:
        tables = self._tables
        first = not tables.read(bucket, layout.ADDRESS_BUCKETS)
        reuse = self._shares(sock)
        reuseport = self._flag(sock, layout.REUSEPORT)
        if first:
            tables.write(bucket, layout.FAST_REUSE, _YES if reuse else _NO)
        elif not reuse:
            tables.write(bucket, layout.FAST_REUSE, _NO)
        if not reuseport:
            tables.write(bucket, layout.FAST_REUSEPORT, _NO)
        elif first or not self._fast_reuseport(sock, bucket):
            tables.write(bucket, layout.FAST_REUSEPORT, _EVERY_ADDRESS if first else _SAME_ADDRESS)
            tables.write(bucket, layout.FAST_ADDRESS, tables.read(sock, layout.LOCAL))
            tables.write(bucket, layout.FAST_FLAGS, tables.read(sock, layout.FLAGS))

    def _fast(self, sock: int, bucket: int) -> bool:
        shared = self._tables.read(bucket, layout.FAST_REUSE) == _YES and self._shares(sock)
        return shared or self._fast_reuseport(sock, bucket)

    def _fast_reuseport(self, sock: int, bucket: int) -> bool:
        tables = self._tables
        fast = tables.read(bucket, layout.FAST_REUSEPORT)
        if fast <= _NO or not self._flag(sock, layout.REUSEPORT):
            return False
        if fast == _EVERY_ADDRESS:
            return True
        return self._overlap(
            tables.read(bucket, layout.FAST_ADDRESS),
            tables.read(bucket, layout.FAST_FLAGS),
            tables.read(sock, layout.LOCAL),
            tables.read(sock, layout.FLAGS),
            second_wildcard=False,
        )

    def _conflicts(self, sock: int, bucket: int, *, relax: bool) -> bool:
        tables = self._tables
        local = tables.read(sock, layout.LOCAL)
        # With the second hash only the owners of the address and of the wildcards are looked at.
        narrow = self._address_buckets and local not in (Addresses.ANY_FOUR, Addresses.ANY_SIX)
        part = tables.read(bucket, layout.ADDRESS_BUCKETS)
        while part:
            address = tables.read(part, layout.ADDRESS)
            if not narrow or address in (local, Addresses.ANY_FOUR, Addresses.ANY_SIX):
                owner = tables.read(part, layout.OWNERS)
                while owner:
                    self._buckets.visit_owner(owner)
                    if owner != sock and self._clash(sock, owner, relax):
                        return True
                    owner = tables.read(owner, layout.LATER)
            part = tables.read(part, layout.SIBLING)
        return False

    def _clash(self, sock: int, owner: int, relax: bool) -> bool:
        tables = self._tables
        device, other_device = tables.read(sock, layout.DEVICE), tables.read(owner, layout.DEVICE)
        if device and other_device and device != other_device:
            return False
        both_reuseport = self._flag(sock, layout.REUSEPORT) and self._flag(owner, layout.REUSEPORT)
        listens = tables.read(owner, layout.STATE) == layout.LISTEN
        if self._flag(sock, layout.REUSE) and self._flag(owner, layout.REUSE) and not listens:
            if relax:
                return False
        elif relax and both_reuseport:
            return False
        return self._overlap(
            tables.read(sock, layout.LOCAL),
            tables.read(sock, layout.FLAGS),
            tables.read(owner, layout.LOCAL),
            tables.read(owner, layout.FLAGS),
            second_wildcard=True,
        )

    def _overlap(self, first: int, first_flags: int, second: int, second_flags: int, *, second_wildcard: bool) -> bool:
        first_four, second_four = self._tables.is_four(first), self._tables.is_four(second)
        if first_four and second_four:
            if second_flags & layout.ONLY_SIX:
                return False
            return first == second or first == Addresses.ANY_FOUR or (second_wildcard and second == Addresses.ANY_FOUR)
        if first == Addresses.ANY_FOUR:
            # To 0.0.0.0 an IPv6 socket is one of some IPv4 address, connected ones included.
            return not second_flags & layout.ONLY_SIX
        if first == second:
            return True
        if second == Addresses.ANY_SIX and second_wildcard and not (second_flags & layout.ONLY_SIX and first_four):
            return True
        return first == Addresses.ANY_SIX and not (first_flags & layout.ONLY_SIX and second_four)

    def _shares(self, sock: int) -> bool:
        return self._flag(sock, layout.REUSE) and self._tables.read(sock, layout.STATE) != layout.LISTEN

    def _flag(self, sock: int, flag: int) -> bool:
        return self._tables.read(sock, layout.FLAGS) & flag != 0
