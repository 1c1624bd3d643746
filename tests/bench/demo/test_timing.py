from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.bench.demo.timing import Spread, Timing, spread, timing


def test_nanoseconds_become_microseconds() -> None:
    assert timing([1_000] * 50 + [3_000] * 50) == Timing(100, mean=2.0, p50=2.0, p99=3.0)


def test_percentiles_of_a_hundred_and_one() -> None:
    found = timing([n * 1000 for n in range(101)])
    assert (found.p50, found.p99) == (50.0, 99.0)


@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=300))
def test_figures_lie_within_the_samples(samples: list[int]) -> None:
    found = timing(samples)
    low, high = min(samples) / 1000, max(samples) / 1000
    assert low <= found.p50 <= found.p99 <= high
    assert low * 0.999 <= found.mean <= high * 1.001


@given(st.lists(st.integers(1, 10**9), min_size=2, max_size=50), st.randoms())
def test_order_does_not_matter(samples: list[int], random: object) -> None:
    assert timing(samples) == timing(sorted(samples))


def test_one_sample_has_no_percentiles() -> None:
    with pytest.raises(ValueError, match="nanoseconds: 1"):
        timing([5])


def test_a_spread_is_median_least_and_greatest() -> None:
    assert spread([3.0, 1.0, 2.0, 9.0, 4.0]) == Spread(median=3.0, low=1.0, high=9.0)


def test_no_repetition_has_no_spread() -> None:
    with pytest.raises(ValueError, match="values"):
        spread([])
