"""Stand-ins for what counts, and figures to print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fourtuple.load.engine.histogram import Histogram
from fourtuple.load.engine.loop import Loop
from fourtuple.load.neper.counters import Counters
from fourtuple.load.neper.outcome import Outcome
from fourtuple.load.neper.overflows import ListenDrops
from fourtuple.load.neper.program import Figures, Traffic, Worker
from fourtuple.load.neper.recorder import Row
from fourtuple.load.neper.trend import Trend
from fourtuple.load.neper.usage import Usage

SECOND = 1_000_000_000
USAGE = Usage(0.25, 1.5, 2048, 10, 0, 7, 3)


class FakeWorker(Worker):
    """Counts what the test says."""

    def __init__(self, of_flow: Sequence[int] = (0,)) -> None:
        self.of_flow = list(of_flow)
        self.failures: dict[int, int] = {}
        self.latency = Histogram()

    @property
    def loop(self) -> Loop:
        raise AssertionError("nobody runs it")

    @property
    def things(self) -> int:
        return sum(self.of_flow)

    @property
    def things_of_flow(self) -> Sequence[int]:
        return self.of_flow

    def counters(self) -> Counters:
        return Counters(self.things, dict(self.failures), {"connections": 2 * self.things}, {"latency": self.latency})

    def traffic(self) -> Traffic:
        return Traffic(self.things, 2 * self.things, self.things, 3 * self.things)

    def levels(self) -> Mapping[str, int]:
        return {"dead_flows": 1}

    def do(self, count: int, latency: int) -> None:
        """So many more things on the first flow, of that many nanoseconds each."""
        self.of_flow[0] += count
        for _ in range(count):
            self.latency.record(latency)


def histogram(*values: int) -> Histogram:
    recorded = Histogram()
    for value in values:
        recorded.record(value)
    return recorded


def trend(*samples: tuple[int, int]) -> Trend:
    line = Trend()
    for moment, count in samples:
        line.add(moment, count)
    return line


def outcome(figures: Figures, *, drops: ListenDrops | None = None, remote_rate: int | None = 7) -> Outcome:
    return Outcome(
        invalid_secrets=1,
        start=figures.trend.start,
        usage_start=USAGE,
        usage_end=USAGE,
        figures=figures,
        levels={"dead_flows": 0},
        rows=[Row(0.0, 1.0, 3, 3.0, 100.0, 200.0, 0)],
        interval=1.0,
        drops=drops,
        trouble="",
        signal=None,
        local_rate=1000,
        remote_rate=remote_rate,
    )
