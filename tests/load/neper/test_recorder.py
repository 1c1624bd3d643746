"""Samples: the beginning, the warm-up, the intervals and the end."""

from __future__ import annotations

import pytest

from fourtuple.load.neper import recorder as under_test
from fourtuple.load.neper.recorder import Interval, Recorder
from load.neper.fakes import SECOND, USAGE, FakeWorker


class Recording:
    def __init__(self, *, warmup: int = 0) -> None:
        self.worker = FakeWorker()
        self.intervals: list[Interval] = []
        self.recorder = Recorder(
            [self.worker],
            interval=SECOND,
            warmup=warmup,
            usage=lambda: USAGE,
            observers=[self.intervals.append],
            now=1,
        )

    def end(self, now: int) -> None:
        self.recorder.end(now)
        self.recorder.finish()


def test_it_begins_with_the_first_thing() -> None:
    recording = Recording()
    recording.recorder.sample(1_000_000)
    recording.worker.do(3, 500)
    recording.recorder.sample(2_000_000)
    assert recording.recorder.beginning == 2_000_000
    recording.worker.do(100, 700)
    recording.recorder.sample(2_000_000 + SECOND)
    recording.worker.do(50, 900)
    recording.end(2_000_000 + 2 * SECOND)
    trend = recording.recorder.trend
    assert (trend.samples, trend.throughput) == (3, 75.0)
    counters = recording.recorder.counters
    assert (counters.things, counters.histograms["latency"].count) == (153, 153)
    assert [(interval.start, interval.seconds, interval.counters.things) for interval in recording.intervals] == [
        (0.0, 1.0, 100),
        (1.0, 1.0, 50),
    ]
    assert [row.p50 for row in recording.recorder.rows] == [pytest.approx(700, rel=0.01), pytest.approx(900, rel=0.01)]


def test_looks_for_the_beginning_come_later_and_later_until_the_other_side_speaks() -> None:
    recorder = Recording().recorder
    waits: list[int] = []
    for _ in range(9):
        before = recorder.due
        recorder.sample(before)
        waits.append((recorder.due - before) // 1_000_000)
    assert waits == [2, 4, 8, 16, 32, 64, 100, 100, 100]
    recorder.expect(5 * SECOND)
    assert recorder.due == 5 * SECOND + 1_000_000


def test_the_warm_up_is_in_no_figure_but_its_failures_are() -> None:
    recording = Recording(warmup=3 * SECOND)
    recording.worker.do(1, 10)
    recording.recorder.sample(SECOND)
    assert recording.recorder.due == 4 * SECOND
    recording.worker.do(1000, 10)
    recording.worker.failures[111] = 2
    recording.recorder.sample(4 * SECOND)
    recording.worker.do(10, 99)
    recording.end(5 * SECOND)
    counters = recording.recorder.counters
    assert recording.recorder.beginning == 4 * SECOND
    assert recording.recorder.trend.throughput == 10.0
    assert (counters.things, counters.failures) == (10, {111: 2})
    assert counters.histograms["latency"].buckets() == [(99, 10)]


def test_a_run_that_ends_within_its_warm_up_has_no_figures() -> None:
    recording = Recording(warmup=3 * SECOND)
    recording.worker.do(5, 10)
    recording.worker.failures[111] = 2
    recording.recorder.sample(SECOND)
    recording.end(2 * SECOND)
    assert (recording.recorder.beginning, recording.recorder.trend.samples) == (0, 0)
    assert (recording.recorder.counters.things, recording.recorder.counters.failures) == (0, {111: 2})


def test_a_run_that_is_over_before_the_first_look_has_a_throughput() -> None:
    recording = Recording()
    recording.worker.do(5, 10)
    recording.end(SECOND // 2)
    assert recording.recorder.trend.throughput == pytest.approx(10.0)
    assert recording.recorder.counters.things == 5


def test_a_run_without_things_has_none() -> None:
    recording = Recording()
    recording.end(SECOND)
    assert (recording.recorder.trend.samples, recording.recorder.beginning) == (0, 0)
    assert recording.intervals == []


def test_only_so_many_intervals_are_kept() -> None:
    recording = Recording()
    recording.worker.do(1, 10)
    for second in range(1, under_test.KEPT + 10):
        recording.recorder.sample(second * SECOND)
    assert len(recording.recorder.rows) == under_test.KEPT
    assert recording.recorder.rows[-1].start == under_test.KEPT + 7
