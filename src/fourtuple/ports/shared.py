"""A port space that threads share, that follows the kernel's settings, and that counts.

The pure core is ``PortSpace``. A call into it, compiled, is one step under the interpreter's lock: it runs no bytecode
and makes no containers, so no thread, finaliser or signal handler comes between, and taking a port and giving it back
need no lock of their own, which would cost as much as the rest. What takes several steps holds the lock; it may be
re-entered, since each step leaves the core whole. Not compiled, a space must stay with one thread.
"""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from fourtuple.errors import PortsExhausted, Shortage

from . import endpoints
from .remedies import remedies
from .settings import KEPT_FOR
from .space import How, Loan, PortSpace, Reason, coprime_stride
from .statistics import Counts, SpaceStatistics
from .timewait import TIME_WAIT, reuse_delay

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from .settings import Settings, SettingsCache


_DETACHED = How.DETACHED
_LONGEST_WAIT = 64.0  # seconds until any port that came back is free or due for another try; see ``space``


class Lease(Loan):
    """A port on loan from a space. It ends once, by ``release`` or ``reject``; whatever comes after has no effect.

    A lease that is dropped, as by a Ctrl-C at the wrong moment, gives its port back as one that nobody saw closed.
    """

    def __init__(self, space: SharedSpace) -> None:
        self.port = 0
        self.held = False
        self.space = space

    def release(self, how: How) -> None:
        """Give the port back, as ``How`` says."""
        self.space.release(self, how)

    def reject(self, reason: Reason) -> None:
        """Give the port back as refused by the kernel."""
        self.space.reject(self, reason)

    def __del__(self) -> None:
        if self.held:
            self.space.release(self, _DETACHED)


class SharedSpace:
    """The port space from ``source`` (canonical; "" when routing gave none) to ``destination``, ``port``."""

    def __init__(
        self,
        source: str,
        destination: str,
        port: int,
        *,
        settings: SettingsCache,
        explicit_bind: bool,
        most: int | None,
        clock: Callable[[], float],
    ) -> None:
        self.source = source
        self.destination = endpoints.text(destination, port)
        self.loopback = any(endpoints.is_loopback(host) for host in (source, destination) if host)
        self.counts = Counts()
        self._settings_cache = settings
        self._explicit_bind = explicit_bind
        self._most = most
        self._clock = clock
        self._lock = threading.RLock()
        self._settings = settings.at(clock())
        self._space = self._fresh_space()
        self._check_at = 0.0
        self._admitted = 0
        self._last_end = 0.0

    @property
    def leased(self) -> int:
        """Ports on loan now."""
        return self._space.leased

    @property
    def idle(self) -> bool:
        """Whether nothing would be forgotten by dropping the space."""
        space = self._space
        if space.leased:
            return False
        return not (space.cooling or space.foreign) or self._clock() >= self._last_end + _LONGEST_WAIT

    def take(self) -> Lease | None:
        """Lease the longest-free port; None when none is known to be free.

        Raises PortsExhausted when the limit of leased ports is reached.
        """
        now = self._clock()
        if now >= self._check_at:
            self._keep_up(now)
        if self._most is not None:
            return self._lease_within_limit(now)
        return self._lease(now)

    @contextmanager
    def admitted(self) -> Generator[None, None, None]:
        """For the length of a connect() whose port the kernel chooses: what take() sees to, settings and the limit.

        Raises PortsExhausted when the limit of leased ports is reached, those under way included.
        """
        now = self._clock()
        if now >= self._check_at:
            self._keep_up(now)
        with self._lock:
            self._heed_limit()
            self._admitted += 1
        try:
            yield
        finally:
            with self._lock:
                self._admitted -= 1

    def last_resort(self, most: int) -> list[int] | None:
        """``PortSpace.last_resort`` with the range of this moment."""
        with self._lock:
            self._follow(self._settings_cache.fresh(self._clock()))
            return self._space.last_resort(most)

    def take_chosen(self, port: int) -> Lease | None:
        """Lease the port to try it; None when it is leased or not in the space."""
        lease = Lease(self)
        if not self._space.lend_chosen(lease, port):
            return None
        self.counts.leases += 1
        return lease

    def adopt(self, port: int) -> Lease | None:
        """Lease the port that the kernel chose; None when the space cannot account for it."""
        self.counts.kernel_choices += 1
        lease = Lease(self)
        return lease if self._space.lend_chosen(lease, port) else None

    def release(self, lease: Lease, how: How) -> None:
        """End a lease; nothing happens when it ended before."""
        now = self._clock()
        if self._space.end(lease, how, now):
            self._last_end = now

    def reject(self, lease: Lease, reason: Reason) -> None:
        """End a lease whose port the kernel refused."""
        now = self._clock()
        if self._space.refuse(lease, reason, now):
            self._last_end = now
            if reason == Reason.TAKEN:
                self.counts.refused += 1
            else:
                self.counts.outside += 1

    def follow(self) -> None:
        """Read the kernel's settings again now, since it did what the last reading does not explain."""
        now = self._clock()
        with self._lock:
            self._follow(self._settings_cache.fresh(now))

    def exhausted(self) -> PortsExhausted:
        """The error to raise when the kernel found no port: those without a known owner are others' then."""
        return self._exhausted(free=0)

    def statistics(self) -> SpaceStatistics:
        """The ports by state, and what happened so far."""
        with self._lock:
            space = self._space
            return SpaceStatistics(
                self.source, self.destination, space.low, space.high, space.census(), replace(self.counts)
            )

    def _lease_within_limit(self, now: float) -> Lease | None:
        with self._lock:
            self._heed_limit()
            return self._lease(now)

    def _heed_limit(self) -> None:
        if self._most is not None and self._space.leased + self._admitted >= self._most:
            raise self._exhausted(free=self._space.free)

    def _keep_up(self, now: float) -> None:
        with self._lock:
            self._follow(self._settings_cache.at(now))

    def _lease(self, now: float) -> Lease | None:
        lease = Lease(self)
        if not self._space.lend(lease, now):
            return None
        self.counts.leases += 1
        return lease

    def _exhausted(self, *, free: int) -> PortsExhausted:
        with self._lock:
            # With the reserved ports and the range of this moment.
            self._follow(self._settings_cache.fresh(self._clock()))
            self.counts.exhausted += 1
            space = self._space
            shortage = Shortage(
                source=self.source or "this machine",
                destination=self.destination,
                low=space.low,
                high=space.high,
                leased=space.leased,
                cooling=space.cooling,
                foreign=space.foreign + space.free - free,
                excluded=space.excluded,
                free=free,
                next_free=space.next_free(self._clock()),
            )
            return PortsExhausted(shortage, remedies(shortage, self._settings, loopback=self.loopback))

    def _follow(self, settings: Settings) -> None:
        self._check_at = self._settings_cache.read_at + KEPT_FOR
        if settings is self._settings:
            return
        self._settings = settings
        size = settings.high - settings.low + 1
        start, stride = random.randrange(size), coprime_stride(size, random.randrange(size))
        old = self._space
        while True:
            seen = old.changes
            new = old.reshaped(
                settings.low,
                settings.high,
                excluded=settings.reserved,
                reuse_delay=self._reuse_delay(),
                start=start,
                stride=stride,
            )
            # Again if a finaliser or another thread changed the space under the copying.
            if old.changes == seen:
                break
        self._space = new

    def _fresh_space(self) -> PortSpace:
        settings = self._settings
        size = settings.high - settings.low + 1
        return PortSpace(
            settings.low,
            settings.high,
            excluded=settings.reserved,
            reuse_delay=self._reuse_delay(),
            time_wait=TIME_WAIT,
            start=random.randrange(size),
            stride=coprime_stride(size, random.randrange(size)),
        )

    def _reuse_delay(self) -> float:
        return reuse_delay(
            self._settings.tw_reuse,
            self._settings.tw_reuse_delay,
            timestamps=self._settings.timestamps,
            loopback=self.loopback,
            explicit_bind=self._explicit_bind,
        )
