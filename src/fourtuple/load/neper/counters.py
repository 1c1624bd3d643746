"""What a thread has counted at some moment, so that moments can be subtracted and threads added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fourtuple.load.engine.histogram import Histogram, merged


@dataclass(frozen=True, slots=True)
class Counters:
    """Counts that only grow.

    ``things`` is what the throughput is about: transactions, or bytes. ``failures`` are by errno, 0 for connections
    that the peer closed too soon. ``numbers`` and ``histograms`` (nanoseconds) are by the name under which they are
    printed; the histogram of whole transactions is called ``latency``.
    """

    things: int = 0
    failures: Mapping[int, int] = field(default_factory=dict[int, int])
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])
    histograms: Mapping[str, Histogram] = field(default_factory=dict[str, Histogram])

    def since(self, earlier: Counters) -> Counters:
        """What came on top of an earlier moment of the same counters. The first moment may be ``Counters()``."""
        return Counters(
            self.things - earlier.things,
            {code: count - earlier.failures.get(code, 0) for code, count in self.failures.items()},
            {name: count - earlier.numbers.get(name, 0) for name, count in self.numbers.items()},
            {
                name: histogram.since(earlier.histograms[name]) if name in earlier.histograms else histogram
                for name, histogram in self.histograms.items()
            },
        )

    @property
    def failed(self) -> int:
        """Failures of all kinds."""
        return sum(self.failures.values())


def added(counters: Iterable[Counters]) -> Counters:
    """The counters of several threads together, with histograms of their own."""
    all_of_them = list(counters)
    failures: Counter[int] = Counter()
    numbers: Counter[str] = Counter()
    histograms: dict[str, list[Histogram]] = {}
    for one in all_of_them:
        # Not by addition, which drops what is 0.
        failures.update(one.failures)
        numbers.update(one.numbers)
        for name, histogram in one.histograms.items():
            histograms.setdefault(name, []).append(histogram)
    return Counters(
        sum(one.things for one in all_of_them),
        dict(failures),
        dict(numbers),
        {name: merged(parts) for name, parts in histograms.items()},
    )
