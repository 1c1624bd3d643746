from __future__ import annotations

from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench.demo.samples import run
from fourtuple.bench.demo.chart import chart
from fourtuple.bench.demo.report import Run

means = st.floats(0.5, 1e5)


def drawn(one: Run, width: int = 80) -> list[str]:
    console = Console(file=StringIO(), width=200)
    with console.capture() as capture:
        console.print(chart(one, width))
    return capture.get().splitlines()


def test_points_stand_in_the_order_of_their_means() -> None:
    _, low, middle, high, _ = drawn(run())
    assert low.index("○") < low.index("●")
    assert middle.index("●") < middle.index("○")
    assert middle.index("○") < high.index("○")


def test_means_stand_beside_their_points() -> None:
    *_, high, _ = drawn(run())
    assert high.split() == ["95", "%", "24.0", high.split()[3], "600"]
    assert high.split()[3].strip("─") == "●" + high.split()[3].strip("●○") + "○"


@given(st.lists(st.tuples(means, means), min_size=1, max_size=3), st.integers(60, 120))
def test_every_level_shows_both_points_within_the_width(pairs: list[tuple[float, float]], width: int) -> None:
    lines = drawn(run(pairs), width)[1:-1]
    assert len(lines) == len(pairs)
    for line in lines:
        assert line.count("●") == line.count("○") == 1
        assert len(line) <= width


def test_the_axis_has_round_figures_and_the_unit() -> None:
    axis = drawn(run())[-1].split()
    assert axis[-1] == "µs"
    assert {"20", "50", "100", "200", "500"} <= set(axis)
