from __future__ import annotations

import pytest

from bench.demo.samples import MACHINE, SETTINGS, arena, measured, report, run
from fourtuple.bench.demo.arena import Family, Settings
from fourtuple.bench.demo.levels import Level, ladder
from fourtuple.bench.demo.report import (
    Report,
    Run,
    files_needed,
    footer,
    headline,
    means,
    microseconds,
    notes,
    own_cost,
    times,
)


@pytest.mark.parametrize(("value", "text"), [(1.234, "1.2"), (99.94, "99.9"), (99.96, "100"), (1234.5, "1,234")])
def test_durations_have_about_three_digits(value: float, text: str) -> None:
    assert microseconds(value) == text


@pytest.mark.parametrize(("ratio", "text"), [(0.84, "0.8×"), (9.94, "9.9×"), (28.6, "29×")])
def test_ratios_have_about_two_digits(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_own_cost_is_relative_to_the_lowest_level() -> None:
    one = run()
    assert [own_cost(one, row) for row in one.measured] == pytest.approx([1.0, 1.05, 1.2])


def test_means_are_those_of_all_runs_and_both_ways() -> None:
    assert sorted(means([run([(1, 2)]), run([(3, 4)])])) == [1, 2, 3, 4]


def test_the_headline_is_about_95_percent() -> None:
    text = headline(report(run()))
    assert "IPv6, 95 % of the ports" in text
    assert "600 µs when the kernel" in text
    assert "24.0 µs when fourtuple does, 25× less." in text


def test_without_95_percent_the_headline_is_about_the_highest_level() -> None:
    assert "IPv6, 50 % of" in headline(report(run([(16, 20), (300, 20)])))


@pytest.mark.parametrize(
    ("pair", "words"),
    [((20, 20), "about the same"), ((10, 20), "2.0× more"), ((40, 20), "2.0× less")],
)
def test_the_headline_does_not_flatter(pair: tuple[float, float], words: str) -> None:
    assert words in headline(report(run([pair])))


def test_nothing_measured_makes_no_headline() -> None:
    assert headline(report(run([]))) == ""


def test_the_footer_names_what_was_done_and_where() -> None:
    text = footer(report())
    for part in (
        "address, socket() and connect(), not of close()",
        "200 operations",
        "turns of 10",
        "closed by reset",
        "10000-10999",
    ):
        assert part in text
    assert str(MACHINE) in text


def test_levels_beyond_are_named_with_the_limit_they_need() -> None:
    steps = ladder(SETTINGS.levels, 1000, 700)
    where = arena(steps=steps, private=False)
    (note,) = notes(report(Run(where, (measured(Level(5, 50), 1, 1),))))
    assert f"95 % ({files_needed(Level(95, 950))})" in note
    assert files_needed(Level(95, 950)) > 950


def test_a_smaller_range_is_told_once() -> None:
    wanted = Report(MACHINE, Settings(ports=20_000), (run(), run(family=Family.IPV4)))
    (note,) = notes(wanted)
    assert "1,000 ports, not 20,000" in note


def test_nothing_left_out_makes_no_note() -> None:
    assert notes(report()) == []
