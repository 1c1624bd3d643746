from __future__ import annotations

from collections.abc import Generator

import pytest

from bench.demo.samples import SETTINGS, arena, measured
from fourtuple.bench.demo import recording
from fourtuple.bench.demo.arena import Arena, Family, Settings
from fourtuple.bench.demo.pressure import Measured, Progress
from fourtuple.bench.demo.recording import Recording, report_of
from fourtuple.bench.demo.report import Run
from fourtuple.bench.machine import this_machine

LEVELS = arena().ladder.reached
ROWS = [measured(level, 300, 20) for level in LEVELS]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[Arena]:
    """The arenas whose measurement has ended; each level tells of progress, then of its row."""
    ended: list[Arena] = []

    def measure(where: Arena, settings: Settings) -> Generator[Progress | Measured, None, None]:
        assert settings is SETTINGS
        try:
            for row in ROWS:
                yield Progress(row.level, "measuring", 0.5)
                yield row
        finally:
            ended.append(where)

    monkeypatch.setattr(recording, "measure", measure)
    return ended


def test_progress_is_told_and_every_level_kept(closed: list[Arena]) -> None:
    where = arena()
    whole = Recording(where, SETTINGS)
    assert [step.level for step in whole.steps()] == list(LEVELS)
    assert whole.run() == Run(where, tuple(ROWS))
    assert closed == [where]


def test_what_is_measured_before_an_interruption_is_kept(closed: list[Arena]) -> None:
    where = arena()
    partial = Recording(where, SETTINGS)
    steps = partial.steps()
    next(steps)
    next(steps)
    assert closed == []
    steps.close()
    assert closed == [where]
    assert partial.run() == Run(where, (ROWS[0],))


def test_a_run_without_a_level_is_not_reported(closed: list[Arena]) -> None:
    begun, whole = Recording(arena(), SETTINGS), Recording(arena(Family.IPV4), SETTINGS)
    next(begun.steps())
    for _ in whole.steps():
        pass
    report = report_of([begun, whole], SETTINGS)
    assert report.runs == (whole.run(),)
    assert (report.machine, report.settings) == (this_machine(), SETTINGS)
