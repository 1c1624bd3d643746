"""The middle of a run, the same for both sides: threads at work, samples of what they count, the wait for the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol, TextIO

from fourtuple.linux import libc

from .iostat import Iostat
from .options import Tcp
from .outcome import Outcome
from .overflows import ListenDrops
from .program import Figures, Line, Plan, Program, Worker
from .recorder import SECOND, Interval, Recorder
from .sample_file import SampleFile
from .stopping import Bell
from .team import Team
from .usage import process_usage, usage_by_machine

_SHORT_INTERVAL = 0.2  # seconds, where the run has fewer than 5 intervals, as neper has it
_FEWEST_INTERVALS = 5
_START_LOOK = 0.001  # seconds between looks whether all flows have begun to connect


class Console(Protocol):
    """Where a run tells how it goes."""

    def lines(self, lines: Iterable[Line]) -> None:
        """Print results."""

    def notice(self, text: str) -> None:
        """Tell whoever sits there, apart from the results."""

    def interval(self, interval: Interval) -> None:
        """Show how it goes."""


class Control(Protocol):
    """The control connections of either side."""

    def fileno(self) -> int:
        """Readable when ``look`` has something to do."""
        ...

    def look(self) -> None:
        """Do what can be done without waiting."""

    @property
    def patience(self) -> float:
        """Seconds until ``look`` must be called though nothing is readable."""
        ...

    @property
    def over(self) -> bool:
        """Whether the other side has ended the run."""
        ...


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a run's threads have counted, until the run ended. ``done``: because they had done all they had to do."""

    recorder: Recorder
    figures: Figures
    levels: dict[str, int]
    interval: float
    seconds: float
    done: bool

    def outcome(
        self,
        *,
        local_rate: int,
        trouble: str,
        signal: int | None,
        invalid_secrets: int = 0,
        drops: ListenDrops | None = None,
    ) -> Outcome:
        """The same with what the rest of the run has to tell; the other side's rate is not known yet."""
        return Outcome(
            invalid_secrets=invalid_secrets,
            start=self.recorder.beginning,
            usage_start=self.recorder.usage_start,
            usage_end=self.recorder.usage_end,
            figures=self.figures,
            levels=self.levels,
            rows=list(self.recorder.rows),
            interval=self.interval,
            drops=drops,
            trouble=trouble,
            signal=signal,
            local_rate=local_rate,
        )


def interval_of(options: Tcp, plan: Plan) -> float:
    """Seconds between samples: those of --interval, or less for a short run."""
    return options.interval if plan.seconds >= _FEWEST_INTERVALS * options.interval else _SHORT_INTERVAL


@contextmanager
def measured(
    program: Program[Tcp],
    workers: Sequence[Worker],
    control: Control,
    console: Console,
    bell: Bell,
    *,
    seconds: float,
) -> Generator[Measurement, None, None]:
    """Run the workers' loops for that many seconds after the first thing they count, 0 for as long as it takes.

    A signal and the other side end it sooner, and so does the end of all loops. Connections stay open for the length of
    the ``with`` block: what is closed before the other side knows of the end is a failure there. Raises OSError for a
    file that cannot be written.
    """
    options, plan = program.options, program.plan
    interval = interval_of(options, plan)
    observers: list[Callable[[Interval], None]] = [console.interval]
    with ExitStack() as stack:
        usage = stack.enter_context(usage_by_machine()) if options.stime_use_proc else process_usage
        samples_to = stack.enter_context(_created(options.all_samples)) if options.all_samples else None
        team = Team(workers, bell)
        stack.callback(team.close)
        stack.callback(team.stop)
        team.start()
        if options.pin_cpu:
            team.pin()
        _await_start(team, control, bell)
        started = libc.now()
        team.go()
        if samples_to is not None:
            observers.append(_sampling(program, samples_to, team, started))
        recorder = Recorder(
            workers,
            interval=int(interval * SECOND),
            warmup=int(options.warmup * SECOND),
            usage=usage,
            observers=observers,
            now=started,
        )
        tickers: list[Recorder | Iostat] = [recorder]
        if options.client and options.iostat_ms and plan.seconds:
            period = options.iostat_ms * 1_000_000
            tickers.append(Iostat(workers, period, started, lambda line: console.lines([line])))
        length = int((seconds + options.warmup) * SECOND) if seconds else 0
        _attend(team, recorder, tickers, control, bell, started, length)
        done = team.ended
        recorder.end(libc.now())
        team.stop()
        recorder.finish()
        levels: Counter[str] = Counter()
        for worker in workers:
            levels.update(worker.levels())
        logged = program.write_log(workers)
        figures = Figures(recorder.trend, recorder.counters, logged)
        yield Measurement(recorder, figures, dict(levels), interval, (libc.now() - started) / SECOND, done)


def _await_start(team: Team, control: Control, bell: Bell) -> None:
    while not (team.started or control.over or bell.signal is not None):
        bell.wait((control,), _START_LOOK)
        control.look()


def _attend(
    team: Team,
    recorder: Recorder,
    tickers: Sequence[Recorder | Iostat],
    control: Control,
    bell: Bell,
    started: int,
    length: int,
) -> None:
    # Take samples until the run is over; its ``length``, if it has one, counts from the first thing.
    while not (team.ended or control.over or bell.signal is not None):
        now = libc.now()
        end = (recorder.first_thing or started) + length
        if length and now >= end:
            return
        for ticker in tickers:
            if ticker.due <= now:
                ticker.sample(now)
        due = min(ticker.due for ticker in tickers)
        wait = min((min(due, end) if length else due) - libc.now(), int(min(control.patience, 3600.0) * SECOND))
        if bell.wait((control,), wait / SECOND):
            recorder.expect(libc.now())
        control.look()


def _created(path: str) -> TextIO:
    return open(path, "w", encoding="ascii")


def _sampling(program: Program[Tcp], file: TextIO, team: Team, now: int) -> Callable[[Interval], None]:
    samples = SampleFile(
        file,
        team.workers,
        team.thread_ids,
        things=program.things,
        percentiles=program.percentiles,
        now=now,
    )
    return lambda interval: samples.sample(interval.end)
