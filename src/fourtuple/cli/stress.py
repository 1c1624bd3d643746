"""What the commands of stress-ng's workloads share: its spelling of flags, the view while they run, and the results."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import click
from rich import box
from rich.console import Console
from rich.progress import Progress, TextColumn
from rich.table import Table

from fourtuple.bench.machine import this_machine
from fourtuple.cli.interrupts import interruptible
from fourtuple.linux.limits import allowed_cpus
from fourtuple.load.stress.metrics import UNITS, Metrics, yaml
from fourtuple.load.stress.run import Run

_Command = TypeVar("_Command", bound=Callable[..., Any])
Line = tuple[str, str]
"""A line of the results beside the metrics: what, and how much."""

_DAY: Final = 86400
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": _DAY, "y": 365 * _DAY}


class Running(Protocol):
    """A stressor that runs."""

    @property
    def run(self) -> Run:
        """Its processes."""
        ...

    def bogo_ops(self) -> int:
        """Its bogo operations until now."""
        ...


class Report(Protocol):
    """What came of a stressor."""

    @property
    def metrics(self) -> Metrics:
        """stress-ng's metrics."""
        ...

    def document(self) -> dict[str, Any]:
        """The rest, for JSON."""
        ...


class _Duration(click.ParamType[float]):
    name = "N[s|m|h|d|y]"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdy]?)", str(value).strip().lower())
        if found is None:
            self.fail(f"{value!r} is no length of time such as 10, 10s or 1m", param, ctx)
        return float(found[1]) * _SECONDS[found[2]] or math.inf


def stressor_options(name: str) -> Callable[[_Command], _Command]:
    """The options of every stressor, spelled as stress-ng does for the one called ``name``.

    They are the parameters ``instances``, ``timeout`` (seconds), ``operations``, ``yaml`` and ``as_json``.
    """
    options = [
        click.option(
            "--instances",
            f"--{name}",
            type=click.IntRange(0, 4096),
            default=1,
            show_default=True,
            help="Instances, 0 for one on each CPU.",
        ),
        click.option(
            "-t",
            "--timeout",
            type=_Duration(),
            default="1d",
            show_default=True,
            help="How long to run at most, in seconds or with a unit; 0 for ever.",
        ),
        click.option(
            f"--{name}-ops",
            "operations",
            type=click.IntRange(min=0),
            default=0,
            metavar="N",
            help="Stop after N bogo operations of all instances together.",
        ),
        click.option(
            "--metrics",
            "-M",
            "--metrics-brief",
            is_flag=True,
            expose_value=False,
            help="Accepted as from stress-ng: the metrics are always printed.",
        ),
        click.option(
            "-Y",
            "--yaml",
            type=click.Path(dir_okay=False, writable=True, path_type=Path),
            help="Write the metrics into this file too, as stress-ng does.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables."),
    ]

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def instances_of(number: int) -> int:
    """The instances that a number asks for."""
    return number or len(allowed_cpus())


def reserve(path: Path | None) -> None:
    """Make sure that the file can be written, which is late to learn after a run. Raises ``OSError``."""
    if path is not None:
        path.open("a").close()


def follow(name: str, running: Running, timeout: float) -> bool:
    """Let it run for ``timeout`` seconds with its rate on the terminal. False if it was interrupted."""
    console = Console(stderr=True)
    # Without a thread that refreshes: it would run beside what is measured.
    with Progress(
        TextColumn("{task.description}"),
        console=console,
        auto_refresh=False,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(f"{name}: started")
        before, done = 0.0, 0
        try:
            with interruptible():
                for age in running.run.watch(timeout):
                    operations = running.bogo_ops()
                    if age > before:
                        rate = (operations - done) / (age - before)
                        text = f"{name}: {age:.1f} s, {operations:,} bogo operations, {rate:,.0f} a second now"
                        progress.update(task, description=text)
                        progress.refresh()
                    before, done = age, operations
        except KeyboardInterrupt:
            return False
    return True


def show(report: Report, lines: Iterable[Line], yaml_file: Path | None, as_json: bool) -> None:
    """Print the results and write the file. ``lines`` are for the terminal."""
    if yaml_file is not None:
        yaml_file.write_text(yaml(report.metrics), encoding="utf-8")
    if as_json:
        click.echo(_json(report))
        return
    console = Console(highlight=False)
    console.print(_table(report.metrics))
    grid = Table.grid(padding=(0, 2))
    for what, how_much in lines:
        grid.add_row(what, how_much)
    console.print(grid)


def failure_lines(failures: dict[str, dict[str, int]]) -> list[Line]:
    """A line for each system call that failed."""
    return [
        (f"{operation} failed", ", ".join(f"{kind} {count:,}" for kind, count in kinds.items()))
        for operation, kinds in failures.items()
    ]


def conclude(ctx: click.Context, problems: Sequence[str], finished: bool) -> None:
    """Tell what went wrong and set the exit status, 1 if anything did. Raises ``KeyboardInterrupt`` if not finished."""
    for problem in problems:
        click.echo(f"Error: {problem}", err=True)
    if not finished:
        raise KeyboardInterrupt
    ctx.exit(int(bool(problems)))


def _json(report: Report) -> str:
    document = {
        "machine": str(this_machine()),
        "instances": report.metrics.instances,
        "metrics": report.metrics.values(),
        "units": UNITS,
        **report.document(),
        "complaints": report.metrics.used.complaints,
    }
    return json.dumps(document, indent=2)


def _table(metrics: Metrics) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("stressor", no_wrap=True)
    for heading in (
        "bogo ops",
        "real s",
        "usr s",
        "sys s",
        "ops/s\nreal time",
        "ops/s\nusr+sys time",
        "CPU per\ninstance",
        "max RSS\nKiB",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    used = metrics.used
    table.add_row(
        metrics.stressor,
        f"{metrics.bogo_ops:,}",
        f"{used.wall_clock:.2f}",
        f"{used.user:.2f}",
        f"{used.system:.2f}",
        f"{metrics.per_second:,.2f}",
        f"{metrics.per_cpu_second:,.2f}",
        f"{metrics.cpu_usage:.1f} %",
        f"{used.max_rss:,}",
    )
    return table
