from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fourtuple.bench.demo.levels import (
    LEVELS,
    SMALLEST_RANGE,
    Level,
    held_at,
    ladder,
    largest_size,
)

percents = st.lists(st.floats(0.1, 99.9), min_size=1, max_size=8)
sizes = st.integers(SMALLEST_RANGE, 64_000)


def test_the_levels_of_twenty_thousand_ports() -> None:
    held = [level.held for level in ladder(LEVELS, 20_000, 20_000).reached]
    assert held == [1_000, 10_000, 15_000, 18_000, 19_000, 19_800, 19_980]


def test_binary_fractions_lose_no_port() -> None:
    # 375 * 18.4 / 100 is 68.99999999999999.
    assert held_at(18.4, 375) == 69


@given(percents, sizes)
def test_levels_rise_and_leave_a_port_free(shares: list[float], size: int) -> None:
    held = [level.held for level in ladder(shares, size, size).reached]
    assert held == sorted(held)
    assert held[0] >= 1
    assert held[-1] < size


@given(percents, sizes, st.integers(1, 64_000))
def test_every_level_is_reached_or_named(shares: list[float], size: int, most: int) -> None:
    steps = ladder(shares, size, most)
    wanted = {(share, held_at(share, size)) for share in shares}
    found = {(level.percent, level.held) for level in steps.reached + steps.beyond}
    assert wanted <= found
    assert all(level.held <= most for level in steps.reached)
    assert all(level.held > most for level in steps.beyond)


@given(percents, sizes, st.integers(1, 64_000))
def test_the_highest_level_within_reach_stands_in(shares: list[float], size: int, most: int) -> None:
    steps = ladder(shares, size, most)
    assume(steps.beyond)
    assert steps.reached[-1].held == most


def test_nothing_stands_in_where_nothing_is_missing() -> None:
    assert ladder([50], 1000, 600).reached == (Level(50, 500),)


@given(percents, sizes, st.integers(SMALLEST_RANGE, 64_000))
def test_the_largest_size_fits_and_one_more_port_would_not(shares: list[float], wanted: int, most: int) -> None:
    size = largest_size(shares, wanted, most)
    assert held_at(max(shares), size) <= most
    assert size == wanted or held_at(max(shares), size + 1) > most


def test_twenty_thousand_files_hold_twenty_thousand_ports() -> None:
    assert largest_size(LEVELS, 20_000, 19_980) == 20_000


@pytest.mark.parametrize("shares", [[], [0], [100], [50, 101], [-1]])
def test_shares_outside_are_named(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="percents"):
        ladder(shares, 1000, 1000)


def test_too_small_a_range_is_named() -> None:
    with pytest.raises(ValueError, match="size: 99 ports"):
        ladder([50], 99, 1000)


def test_no_connection_is_named() -> None:
    with pytest.raises(ValueError, match="most"):
        ladder([50], 1000, 0)


def test_a_level_is_written_without_needless_digits() -> None:
    assert [str(Level(p, 1)) for p in (5.0, 99.9, 70.771)] == ["5 %", "99.9 %", "70.77 %"]
