"""A machine: tables, search, settings and time, and what happens to a connection between connect() and its end."""

from __future__ import annotations

import errno
import os
from array import array
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Final

from . import layout
from .addresses import Address, Addresses
from .binding import Binding
from .buckets import Buckets
from .churn import Churn
from .hashes import siphash
from .randomness import Randomness
from .search import Search
from .settings import Settings
from .sizes import Sizes
from .tables import Tables
from .trace import COUNTERS, Step, Trace, steps_of
from .versions import Features

_TIME_WAIT_LENGTH: Final = 60.0  # TCP_TIMEWAIT_LEN
_RESEEDED_EVERY: Final = 10.0
_64: Final = 1 << 64


class Machine:
    """Connections by the numbers of their records in ``tables``. `fourtuple.model.sockets.Socket` is its face.

    ``now`` is in seconds. Every operation begins with `begin` and ends with `trace`.
    """

    def __init__(self, features: Features, sizes: Sizes, *, seed: int) -> None:
        self.features = features
        self.random = Randomness(seed)
        self.tables = Tables(
            sizes.bind,
            sizes.established,
            sizes.locks,
            secret=self.random.below(1 << 32),
            secret_six=self.random.below(1 << 32),
            hash_kind=features.hash,
        )
        self.addresses = Addresses(self.tables)
        self.buckets = Buckets(
            self.tables, address_buckets=features.address_buckets, restored_buckets=features.restored_buckets
        )
        self.search = Search(self.tables, self.buckets, features, self.random)
        self.binding = Binding(
            self.tables, self.buckets, self.search, self.random, address_buckets=features.address_buckets
        )
        self._keys = tuple(self.random.below(1 << 32) << 32 | self.random.below(1 << 32) for _ in range(2))
        self._timers: list[tuple[float, int, int]] = []
        self._due: dict[int, int] = {}
        self._timer = 0
        self.now = 0.0
        self.settings = Settings()
        self.apply(self.settings)

    def apply(self, settings: Settings) -> None:
        """Let new settings count from now on."""
        self.settings = settings
        reserved = bytearray(65536)
        for port in settings.ip_local_reserved_ports:
            reserved[port] = 1
        self.search.reserved = array("B", reserved)
        self.search.tw_reuse = settings.tcp_tw_reuse
        self.search.tw_reuse_delay = settings.tcp_tw_reuse_delay

    def begin(self) -> None:
        """Start an operation."""
        self.tables.begin()
        self.search.now = int(self.now * 1000)

    def trace(self) -> Trace:
        """What the operation did."""
        return Trace(*(getattr(self.tables, name) for name in COUNTERS))

    def steps(self) -> tuple[Step, ...]:
        """The same step by step, where steps are recorded."""
        return steps_of(self.tables.steps or ())

    def connect(self, sock: int, local_range: tuple[int, int]) -> None:
        """Connect ``sock``, whose addresses are set. Raises OSError (``EADDRNOTAVAIL``)."""
        tables = self.tables
        if tables.read(sock, layout.OWNED):
            done = self.search.fix(sock)
        else:
            low, high = self.port_range(local_range)
            width = self.settings.ip_local_port_step_width
            done = self.search.choose(sock, low, high, any(local_range), self._port_offset(sock), width) != 0
        if not done:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        flags = tables.read(sock, layout.FLAGS) & ~layout.TIMESTAMPS
        if self.settings.tcp_timestamps:
            flags |= layout.TIMESTAMPS
        tables.write(sock, layout.FLAGS, flags)
        replaced = self.search.replaced
        if replaced:
            del self._due[replaced]
            self.buckets.release(replaced)
            tables.drop(replaced)

    def port_range(self, local_range: tuple[int, int]) -> tuple[int, int]:
        """The ports of a socket with such a range of its own: a bound that is 0 or outside the sysctl's is ignored."""
        low, high = self.settings.ip_local_port_range
        own_low, own_high = local_range
        start = own_low if low <= own_low <= high else low
        if start <= own_high <= high:
            high = own_high
        return start, high

    def churn(self, socks: Sequence[int], connects: int, chance: Randomness) -> Trace:
        """Reset one of ``socks``, connected to one destination, and connect it again, that often.

        ``chance`` draws which. Returns the sum of the connects' traces; the connections that go are in no count.
        """
        low, high = self.settings.ip_local_port_range
        churn = Churn(
            self.tables,
            self.buckets,
            self.search,
            chance,
            array("I", socks),
            low=low,
            high=high,
            port_offset=self._port_offset(socks[0]),
            width=self.settings.ip_local_port_step_width,
        )
        return churn.run(connects)

    def end(self, sock: int) -> None:
        """A socket goes, connected or not, and leaves nothing."""
        tables = self.tables
        if tables.read(sock, layout.STATE) in (layout.ESTABLISHED, layout.CLOSE_WAIT):
            tables.lock_established(tables.read(sock, layout.HASH))
            tables.leave(sock)
        if tables.read(sock, layout.OWNED):
            self.buckets.release(sock)
        tables.drop(sock)

    def finish(self, sock: int) -> int:
        """A connected socket sends the first FIN: FIN_WAIT2 from here on. Returns the timer's number."""
        return self._wait(sock, layout.FIN_WAIT2, self.settings.tcp_fin_timeout)

    def finish_peer(self, sock: int, timer: int) -> int:
        """The peer of a socket in FIN_WAIT2 sends its FIN, unless it is too late. Returns the new timer's number."""
        if self._due.get(sock) != timer or self.tables.read(sock, layout.STATE) != layout.FIN_WAIT2:
            return timer
        self.tables.write(sock, layout.STATE, layout.TIME_WAIT)
        self.tables.write(sock, layout.ENTERED, int(self.now * 1000))
        return self._set_timer(sock, _TIME_WAIT_LENGTH)

    def advance(self, seconds: float) -> Trace:
        """Let time pass: what is due ends in order. Returns what that did."""
        until = self.now + seconds
        total = Trace()
        while self._timers and self._timers[0][0] <= until:
            when, timer, sock = heappop(self._timers)
            if self._due.get(sock) == timer:
                del self._due[sock]
                self.now = when
                self.begin()
                self.tables.lock_established(self.tables.read(sock, layout.HASH))
                self.tables.leave(sock)
                self.buckets.release(sock)
                self.tables.drop(sock)
                total += self.trace()
        self.now = until
        return total

    def _wait(self, sock: int, state: int, seconds: float) -> int:
        # The kernel replaces the socket by a smaller one, under all three locks; here the record stays.
        tables = self.tables
        netns = tables.read(sock, layout.NETNS)
        port = tables.read(sock, layout.LOCAL_PORT)
        tables.lock_bind(tables.bind_slot(port, netns))
        self.buckets.lock_address(self.buckets.address_slot(port, tables.read(sock, layout.LOCAL), netns))
        hashed = tables.read(sock, layout.HASH)
        tables.lock_established(hashed)
        tables.leave(sock)
        tables.write(sock, layout.STATE, state)
        tables.write(sock, layout.ENTERED, int(self.now * 1000))
        tables.enter(sock, hashed)
        return self._set_timer(sock, seconds)

    def _set_timer(self, sock: int, seconds: float) -> int:
        self._timer += 1
        self._due[sock] = self._timer
        heappush(self._timers, (self.now + seconds, self._timer, sock))
        return self._timer

    def _port_offset(self, sock: int) -> int:
        tables = self.tables
        local = self.addresses.of(tables.read(sock, layout.LOCAL))
        remote = self.addresses.of(tables.read(sock, layout.REMOTE))
        port = tables.read(sock, layout.REMOTE_PORT).to_bytes(2, "big")
        period = int(self.now / _RESEEDED_EVERY).to_bytes(4, "little") if self.features.reseeded else b""
        tables.hashes += 1
        offset = self._siphash(local, remote, port, period)
        return offset if self.features.reseeded else offset & 0xFFFFFFFF

    def _siphash(self, local: Address, remote: Address, port: bytes, period: bytes) -> int:
        # IPv4 pads the port to four bytes and has it before the period, IPv6 pads nothing and has it after.
        tail = port + b"\0\0" + period if local.version == 4 else period + port
        data = local.packed + remote.packed + tail
        whole = len(data) // 8 * 8
        last = int.from_bytes(data[whole:], "little")
        return siphash(array("Q", data[:whole]), last, len(data), *self._keys)
