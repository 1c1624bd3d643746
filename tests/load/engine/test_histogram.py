"""Histograms: what is read back is what was recorded, within the stated error, and merging adds up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.load.engine.histogram import ERROR, Histogram, merged, upper_end

DURATIONS = st.integers(0, 2**63 - 1)
# What floating point holds exactly: up to a hundred days.
SAMPLES = st.lists(st.integers(0, 2**53), min_size=1, max_size=200)


def of(durations: list[int]) -> Histogram:
    histogram = Histogram()
    for duration in durations:
        histogram.record(duration)
    return histogram


@given(DURATIONS)
def test_a_duration_is_read_back_within_the_stated_error(duration: int) -> None:
    ((upper, count),) = of([duration]).buckets()
    assert count == 1
    assert duration <= upper <= duration * (1 + ERROR)


def test_buckets_leave_no_gap() -> None:
    ends = [upper_end(bucket) for bucket in range(7296)]
    assert ends[:257] == [*range(256), 257]
    assert ends == sorted(set(ends))
    assert ends[-1] == 2**63 - 1


@given(SAMPLES, st.floats(0, 100))
def test_a_percentile_is_never_too_small_and_hardly_too_great(durations: list[int], percent: float) -> None:
    rank = max(1, math.ceil(len(durations) * percent / 100))
    exact = sorted(durations)[rank - 1]
    assert exact <= of(durations).percentile(percent) <= exact * (1 + ERROR)


@given(SAMPLES)
def test_moments_are_exact(durations: list[int]) -> None:
    histogram = of(durations)
    assert (histogram.count, histogram.least, histogram.greatest) == (len(durations), min(durations), max(durations))
    assert histogram.mean == pytest.approx(sum(durations) / len(durations))


def test_the_deviation_is_the_populations() -> None:
    assert of([1000, 3000]).stddev == 1000
    assert of([7]).stddev == 0


def test_nothing_recorded_is_not_a_number() -> None:
    empty = Histogram()
    assert all(math.isnan(value) for value in (empty.mean, empty.stddev, empty.percentile(50)))
    assert empty.buckets() == []


def test_a_duration_below_0_counts_as_0() -> None:
    assert of([-5]).buckets() == [(0, 1)]


@given(SAMPLES, SAMPLES)
def test_merging_is_recording_all(some: list[int], others: list[int]) -> None:
    both, whole = merged([of(some), of(others)]), of(some + others)
    assert both.buckets() == whole.buckets()
    assert (both.count, both.least, both.greatest) == (whole.count, whole.least, whole.greatest)


@given(SAMPLES, SAMPLES)
def test_what_came_since_a_copy(some: list[int], others: list[int]) -> None:
    histogram = of(some)
    copy = histogram.copy()
    for duration in others:
        histogram.record(duration)
    since = histogram.since(copy)
    assert since.buckets() == of(others).buckets()
    assert since.count == len(others)
    assert since.least <= min(others) * (1 + ERROR)
    assert since.greatest >= max(others)
    assert copy.buckets() == of(some).buckets()


@pytest.mark.parametrize("percent", [-1, 101, math.nan])
def test_a_percentage_that_is_none(percent: float) -> None:
    with pytest.raises(ValueError, match="percent must be 0 to 100"):
        of([1]).percentile(percent)
