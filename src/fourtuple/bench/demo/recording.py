"""A measurement under way, whose levels so far are kept where an interruption finds them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import closing

from fourtuple.bench.demo.arena import Arena, Settings
from fourtuple.bench.demo.pressure import Measured, Progress, measure
from fourtuple.bench.demo.report import Report, Run
from fourtuple.bench.machine import this_machine


class Recording:
    """Measures in one arena, once."""

    def __init__(self, arena: Arena, settings: Settings) -> None:
        self._arena = arena
        self._settings = settings
        self._rows: list[Measured] = []

    def steps(self) -> Generator[Progress, None, None]:
        """Measure, telling of progress between turns. Raises what `measure` raises."""
        with closing(measure(self._arena, self._settings)) as steps:
            for step in steps:
                if isinstance(step, Measured):
                    self._rows.append(step)
                else:
                    yield step

    def run(self) -> Run:
        """Return the levels measured so far."""
        return Run(self._arena, tuple(self._rows))


def report_of(recordings: Iterable[Recording], settings: Settings) -> Report:
    """Return what was measured on this machine so far, without the runs that have no level yet."""
    runs = (recording.run() for recording in recordings)
    return Report(this_machine(), settings, tuple(run for run in runs if run.measured))
