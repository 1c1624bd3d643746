"""Throughput and correlation."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from load.neper.fakes import SECOND, trend


def test_the_throughput_is_from_the_first_sample_to_the_last() -> None:
    line = trend((5 * SECOND, 1), (6 * SECOND, 50), (7 * SECOND, 201))
    assert (line.samples, line.start, line.end) == (3, 5 * SECOND, 7 * SECOND)
    assert line.throughput == 100.0


def test_the_correlation_is_through_the_first_sample() -> None:
    # By hand: x 1 2, y 100 200 and then 1 2, 0 200.
    assert trend((0, 0), (SECOND, 100), (2 * SECOND, 200)).correlation == pytest.approx(1.0)
    assert trend((0, 0), (SECOND, 0), (2 * SECOND, 200)).correlation == pytest.approx(400 / math.sqrt(5 * 40000))


@pytest.mark.parametrize("samples", [[], [(5, 1)], [(5, 1), (5, 2)]])
def test_there_is_none_without_two_moments(samples: list[tuple[int, int]]) -> None:
    assert math.isnan(trend(*samples).throughput)


def test_nothing_counted_does_not_correlate() -> None:
    assert math.isnan(trend((0, 3), (SECOND, 3)).correlation)


@given(
    st.lists(st.tuples(st.integers(1, SECOND), st.integers(0, 1000)), min_size=2, max_size=50), st.integers(0, SECOND)
)
def test_where_time_and_count_begin_makes_no_difference(steps: list[tuple[int, int]], offset: int) -> None:
    moment, count = 0, 0
    samples: list[tuple[int, int]] = []
    for later, more in steps:
        moment += later
        count += more
        samples.append((moment, count))
    here, there = trend(*samples), trend(*((moment + offset, count + 7) for moment, count in samples))
    assert here.throughput == pytest.approx(there.throughput)
    assert here.correlation == pytest.approx(there.correlation, nan_ok=True)
    assert math.isnan(here.correlation) or 0 <= here.correlation <= 1.0000001
