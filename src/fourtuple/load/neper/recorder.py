"""Samples of a run: when it begins, what the warm-up keeps out, and how it goes from interval to interval."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .counters import Counters, added
from .program import Worker
from .trend import Trend
from .usage import Usage

KEPT: Final = 10_000
"""Intervals that are kept; of a longer run these are the last ones."""

SECOND: Final = 1_000_000_000
_FIRST_LOOK: Final = 1_000_000  # nanoseconds until the first look for a beginning; each further one takes twice as long
_LAST_LOOK: Final = 100_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """What happened from one sample to the next.

    ``start`` is in seconds from where the figures begin, ``seconds`` the length, ``end`` the moment of the later sample
    in nanoseconds of the clock.
    """

    start: float
    seconds: float
    end: int
    counters: Counters

    @property
    def rate(self) -> float:
        """Things per second."""
        return self.counters.things / self.seconds


@dataclass(frozen=True, slots=True)
class Row:
    """An `Interval` as it is kept: two percentiles of the latency in nanoseconds, None without a latency."""

    start: float
    seconds: float
    things: int
    rate: float
    p50: float | None
    p99: float | None
    failures: int


class Recorder:
    """Takes samples of the workers. Times are nanoseconds of one clock; ``interval`` and ``warmup`` too.

    The run begins with the first thing that a worker counts. What comes before that and within the warm-up after it is
    in no figure, but for failures, which are never left out. ``observers`` are told of every interval. ``beginning`` is
    when the figures begin, 0 while they do not.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        *,
        interval: int,
        warmup: int,
        usage: Callable[[], Usage],
        observers: Sequence[Callable[[Interval], None]],
        now: int,
    ) -> None:
        self.trend = Trend()
        self.rows: deque[Row] = deque(maxlen=KEPT)
        self.first_thing = 0
        self.beginning = 0
        self.usage_start = usage()
        self.usage_end = self.usage_start
        self._workers = workers
        self._interval = interval
        self._warmup = warmup
        self._usage = usage
        self._observers = observers
        self._look = _FIRST_LOOK
        self._base = Counters()
        self._last = Counters()
        self._last_moment = now
        self._end = now
        self.due = now + _FIRST_LOOK

    @property
    def counters(self) -> Counters:
        """Everything counted from the beginning to the last sample."""
        return self._last.since(self._base)

    @property
    def total(self) -> int:
        """All things up to the last sample, those before the beginning included."""
        return self._last.things

    def expect(self, now: int) -> None:
        """Look more often for the beginning again: the other side has said something."""
        if not self.first_thing:
            self._look = _FIRST_LOOK
            self.due = now + self._look

    def sample(self, now: int) -> None:
        """Take the sample that is due."""
        if not self.first_thing:
            if not self._things():
                self._last_moment = now
                self._look = min(2 * self._look, _LAST_LOOK)
                self.due = now + self._look
                return
            self.first_thing = now
            self.due = now + self._warmup
            if self._warmup:
                return
        if not self.beginning:
            self._begin(now)
        else:
            self._go_on(now)
        self.due = max(self.due + self._interval, now)

    def end(self, now: int) -> None:
        """Take the last sample of time and things, while the loops still run."""
        self.usage_end = self._usage()
        if not (self.first_thing or self._warmup) and self._things():
            # It was over before the first look.
            self.first_thing = self.beginning = self._last_moment
            self.trend.add(self._last_moment, 0)
        if self.beginning:
            self.trend.add(now, self._things())
        self._end = now

    def finish(self) -> None:
        """Take the last sample of everything else, when the loops have ended and nothing changes any more."""
        counters = self._counters()
        if self.beginning:
            self._note(self._end, counters)
        else:
            self._base = replace(counters, failures={}, numbers={})
            self._last = counters

    def _begin(self, now: int) -> None:
        self.beginning = now
        self.usage_start = self._usage()
        self._last = self._counters()
        self._last_moment = now
        if self._warmup:
            self._base = replace(self._last, failures={})
        self.trend.add(now, self._last.things)

    def _go_on(self, now: int) -> None:
        counters = self._counters()
        self.trend.add(now, counters.things)
        self._note(now, counters)

    def _note(self, now: int, counters: Counters) -> None:
        interval = Interval(
            (self._last_moment - self.beginning) / SECOND,
            max(1, now - self._last_moment) / SECOND,
            now,
            counters.since(self._last),
        )
        self._last = counters
        self._last_moment = now
        self.rows.append(_row(interval))
        for observe in self._observers:
            observe(interval)

    def _things(self) -> int:
        return sum(worker.things for worker in self._workers)

    def _counters(self) -> Counters:
        return added(worker.counters() for worker in self._workers)


def _row(interval: Interval) -> Row:
    latency = interval.counters.histograms.get("latency")
    percentiles = (latency.percentile(50), latency.percentile(99)) if latency and latency.count else (None, None)
    return Row(
        interval.start,
        interval.seconds,
        interval.counters.things,
        interval.rate,
        *percentiles,
        interval.counters.failed,
    )
