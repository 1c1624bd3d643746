from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.bench.demo.scale import LogScale, scale_around

values = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=20)


@given(values)
def test_all_values_lie_inside(known: list[float]) -> None:
    scale = scale_around(known, room=1.1)
    places = [scale.place(value) for value in sorted(known)]
    assert places == sorted(places)
    assert 0 < places[0] <= places[-1] < 1


def test_equal_ratios_are_equal_distances() -> None:
    scale = LogScale(1, 1000)
    assert [scale.place(v) for v in (1, 10, 100, 1000)] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_what_is_outside_goes_to_the_nearer_end() -> None:
    scale = LogScale(1, 1000)
    assert (scale.place(0.1), scale.place(5000)) == (0, 1)


def test_ticks_are_round_and_inside() -> None:
    assert LogScale(14, 1200).ticks() == pytest.approx([20, 50, 100, 200, 500, 1000])
