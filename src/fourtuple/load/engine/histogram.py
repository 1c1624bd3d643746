"""A histogram of durations in bounded memory, whose error bound is known and which merges with others.

The layout is that of HDR histograms: log-linear. Values below 256 ns have a bucket each; above, every power of two is
cut into 128 equal buckets. A bucket is at most 1/128 of its values wide, so a value read back from the histogram is too
great by less than 0.8 % and never too small. All counts together take 58 KiB, whatever is recorded.
"""

from __future__ import annotations

from array import array
from math import ceil, sqrt

ERROR = 1.0 / 128
"""The greatest relative error of a percentile."""

_HALF = 128  # buckets for each power of two
_POWERS = 64 - 8  # the shifts that bring a 63-bit value below 2 * _HALF, and none
_SIZE = (_POWERS + 1) * _HALF


class Histogram:
    """Counts of durations in nanoseconds.

    ``count``, ``total`` (their sum, nanoseconds), ``squares`` (the sum of their squares), ``least`` and ``greatest``
    are exact. Once compiled, ``record`` runs without the interpreter. One thread records; others may copy meanwhile,
    and then see each counter as it was at some moment of the copying.
    """

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.squares = 0.0
        self.least = 0
        self.greatest = 0
        self._buckets = array("Q", bytes(8 * _SIZE))

    @property
    def mean(self) -> float:
        """Nanoseconds; nan while there are none."""
        return self.total / self.count if self.count else float("nan")

    @property
    def stddev(self) -> float:
        """The standard deviation of the population, nanoseconds; nan while there is none."""
        if not self.count:
            return float("nan")
        return sqrt(max(0.0, self.squares / self.count - self.mean * self.mean))

    def record(self, value: int) -> None:
        """Count one duration; one below 0, as from a clock that was set back, counts as 0."""
        if value < 0:
            value = 0
        if self.count == 0 or value < self.least:
            self.least = value
        if value > self.greatest:
            self.greatest = value
        self.count += 1
        self.total += value
        # As floating point: the square of four seconds is no 64-bit number.
        self.squares += (value * 1.0) * value
        power = 0
        while value >= 2 * _HALF:
            value >>= 1
            power += 1
        self._buckets[power * _HALF + value] += 1

    def percentile(self, percent: float) -> float:
        """The duration that ``percent`` of all do not exceed, as the upper end of its bucket; nan while there are none.

        Never above ``greatest``. Raises ValueError for a percentage outside 0 to 100.
        """
        if not 0 <= percent <= 100:
            raise ValueError(f"percent must be 0 to 100, not {percent}")
        # The buckets are counted anew: they may be ahead of ``count`` while another thread records.
        counts = array("Q", bytes(self._buckets))
        rank = max(1, ceil(sum(counts) * percent / 100))
        seen = 0
        for bucket, count in enumerate(counts):
            seen += count
            if seen >= rank:
                return float(min(upper_end(bucket), self.greatest))
        return float("nan")

    def buckets(self) -> list[tuple[int, int]]:
        """The (upper end in nanoseconds, count) of every bucket that is not empty, in order."""
        counts = array("Q", bytes(self._buckets))
        return [(upper_end(bucket), count) for bucket, count in enumerate(counts) if count]

    def add(self, other: Histogram) -> None:
        """Count all that the other has counted, too."""
        if other.count and (self.count == 0 or other.least < self.least):
            self.least = other.least
        self.greatest = max(self.greatest, other.greatest)
        self.count += other.count
        self.total += other.total
        self.squares += other.squares
        for bucket in range(_SIZE):
            self._buckets[bucket] += other._buckets[bucket]

    def since(self, earlier: Histogram) -> Histogram:
        """What came on top of an earlier copy. Its least and greatest are those of its buckets, for want of better."""
        later = Histogram()
        later.count = self.count - earlier.count
        later.total = self.total - earlier.total
        later.squares = self.squares - earlier.squares
        for bucket in range(_SIZE):
            later._buckets[bucket] = self._buckets[bucket] - earlier._buckets[bucket]
        ends = [end for end, _ in later.buckets()]
        if ends:
            later.least = max(self.least, min(min(ends), self.greatest))
            later.greatest = min(max(ends), self.greatest)
        return later

    def copy(self) -> Histogram:
        """The same counts, apart."""
        copy = Histogram()
        copy.add(self)
        return copy


def upper_end(bucket: int) -> int:
    """The greatest duration in nanoseconds that the bucket of that number holds."""
    power = max(0, bucket // _HALF - 1)
    return ((bucket - power * _HALF + 1) << power) - 1


def merged(histograms: list[Histogram]) -> Histogram:
    """One histogram of all."""
    whole = Histogram()
    for histogram in histograms:
        whole.add(histogram)
    return whole
