"""The lines of ``--iostat-ms``: what was sent and received since the line before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .program import Line, Traffic, Worker


class Iostat:
    """Prints a line every ``period`` nanoseconds, the first of them a period after ``now``."""

    def __init__(self, workers: Sequence[Worker], period: int, now: int, show: Callable[[Line], None]) -> None:
        self.due = now + period
        self._workers = workers
        self._period = period
        self._start = now
        self._show = show
        self._last_moment = now
        self._last = Traffic(0, 0, 0, 0)

    def sample(self, now: int) -> None:
        """Print the line that is due."""
        traffic = Traffic(*map(sum, zip(*(worker.traffic() for worker in self._workers), strict=True)))
        since = Traffic(*(new - old for new, old in zip(traffic, self._last, strict=True)))
        self._show(iostat_line((now - self._start) * 1e-9, since, max(1, now - self._last_moment) * 1e-9))
        self._last = traffic
        self._last_moment = now
        self.due = max(self.due + self._period, now)


def iostat_line(moment: float, traffic: Traffic, seconds: float) -> Line:
    """The line of ``traffic`` in the last ``seconds``, at ``moment``, in seconds from the start."""
    ways = (("TX", traffic.sent, traffic.sent_bytes), ("RX", traffic.received, traffic.received_bytes))
    texts = [f"{way}: {ops:6} ops, {count:10} bytes, {count * 8e-6 / seconds:8.1f} Mbps;" for way, ops, count in ways]
    return "t", f"{moment:<10.3f} {' '.join(texts)}"
