"""How fast a count grew: neper's throughput and correlation, from samples, in constant memory."""

from __future__ import annotations

from math import nan, sqrt


class Trend:
    """Samples of a count that grows, in order of time, which is in nanoseconds.

    The first sample is where the line starts. ``samples`` counts all.
    """

    def __init__(self) -> None:
        self.samples = 0
        self.start = 0
        self.end = 0
        self._first = 0
        self._last = 0
        self._xy = 0.0
        self._xx = 0.0
        self._yy = 0.0

    def add(self, moment: int, count: int) -> None:
        """Take a sample."""
        if self.samples == 0:
            self.start = moment
            self._first = count
        self.samples += 1
        self.end = moment
        self._last = count
        x = (moment - self.start) * 1e-9
        y = float(count - self._first)
        self._xy += x * y
        self._xx += x * x
        self._yy += y * y

    @property
    def throughput(self) -> float:
        """Counted per second from the first sample to the last; nan for fewer than two, or none apart in time."""
        if self.end == self.start:
            return nan
        return (self._last - self._first) / ((self.end - self.start) * 1e-9)

    @property
    def correlation(self) -> float:
        """Of count and time, through the first sample: 1 for a steady rate; nan when nothing was counted."""
        product = self._xx * self._yy
        return self._xy / sqrt(product) if product > 0 else nan
