"""The order of the measurement, with worlds that only take notes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager

import pytest

from bench.demo.samples import SETTINGS, arena
from fourtuple.bench.demo import pressure
from fourtuple.bench.demo.pressure import Measured, Progress, measure
from fourtuple.load.choosers import Chooser, kernel_chooses
from fourtuple.load.connections import Connections
from fourtuple.load.places import Place

Log = list[tuple[str, str, int]]


class Notes:
    """A world that writes down what it is asked; each connect takes it ``nanoseconds`` and more."""

    def __init__(self, name: str, nanoseconds: int, log: Log) -> None:
        self.name = name
        self.nanoseconds = nanoseconds
        self.log = log
        self.held = 0

    def ask(self, function: Callable[..., object], count: int) -> array[int] | None:
        if function is Connections.grow:
            self.log.append((self.name, "grow", count))
            self.held += count
            return None
        assert function is Connections.replace
        self.log.append((self.name, "replace", count))
        return array("q", [self.nanoseconds + self.held] * count)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    events: Log = []

    @contextmanager
    def open_notes(chooser: Chooser, place: Place) -> Generator[Notes, None, None]:
        kernel = chooser is kernel_chooses
        name, nanoseconds = ("kernel", 9_000_000) if kernel else ("fourtuple", 1_000_000)
        world = Notes(name, nanoseconds, events)
        try:
            yield world
        finally:
            events.append((world.name, "closed", 0))

    monkeypatch.setattr(pressure, "open_world", open_notes)
    return events


def test_each_level_has_the_times_of_either_world_at_its_own_fill(
    log: Log,
) -> None:
    rows = [step for step in measure(arena(), SETTINGS) if isinstance(step, Measured)]
    assert [(row.level.held, row.free) for row in rows] == [(50, 950), (500, 500), (950, 50)]
    assert [row.kernel.mean for row in rows] == [9000.05, 9000.5, 9000.95]
    assert [row.fourtuple.mean for row in rows] == [1000.05, 1000.5, 1000.95]
    assert {row.kernel.operations for row in rows} == {SETTINGS.operations}


def test_turns_alternate_and_each_world_begins_as_often(log: Log) -> None:
    for _ in measure(arena(), SETTINGS):
        pass
    turns = [name for name, what, _ in log if what == "replace"]
    pairs = [tuple(turns[i : i + 2]) for i in range(0, len(turns), 2)]
    assert pairs[0] == ("kernel", "fourtuple")
    assert pairs.count(("kernel", "fourtuple")) == pairs.count(("fourtuple", "kernel"))
    assert pairs.count(pairs[0]) * 2 == len(pairs) == 3 * SETTINGS.operations / SETTINGS.block


def test_progress_rises_from_nothing_and_names_what_is_done(
    log: Log,
) -> None:
    steps = [step for step in measure(arena(), SETTINGS) if isinstance(step, Progress)]
    shares = [step.share for step in steps]
    assert shares[0] == 0
    assert shares == sorted(set(shares))
    assert shares[-1] < 1
    assert {(str(step.level), step.doing) for step in steps} >= {
        ("5 %", "filling"),
        ("95 %", "measuring"),
    }


def test_stopping_early_closes_both_worlds(log: Log) -> None:
    with closing(measure(arena(), SETTINGS)) as steps:
        next(steps)
    assert [event for event in log if event[1] == "closed"] == [
        ("fourtuple", "closed", 0),
        ("kernel", "closed", 0),
    ]
