"""``fourtuple demo``: what connect() costs as ports run out, with and without fourtuple."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from fourtuple.bench.demo.arena import Family, Settings, possible_arena
from fourtuple.bench.demo.chart import chart
from fourtuple.bench.demo.document import document
from fourtuple.bench.demo.levels import SMALLEST_RANGE
from fourtuple.bench.demo.recording import Recording, report_of
from fourtuple.bench.demo.report import Report, footer, headline, notes
from fourtuple.bench.demo.table import table
from fourtuple.cli.interrupts import interruptible
from fourtuple.errors import Unsupported

_DEFAULTS = Settings()
_CHART_WIDTH = 80

_Output = Callable[[Report], None]


class _Levels(click.ParamType[tuple[float, ...]]):
    name = "PERCENT,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        try:
            levels = tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is no list of numbers such as 5,50,99.9", param, ctx)
        if not all(0 < level < 100 for level in levels):
            self.fail(f"{value!r}: levels are per cent, above 0 and below 100", param, ctx)
        return levels


@click.command()
@click.option("-4", "--ipv4", "only", flag_value="IPv4", help="IPv4 alone.")
@click.option("-6", "--ipv6", "only", flag_value="IPv6", help="IPv6 alone.")
@click.option(
    "--levels",
    type=_Levels(),
    default=",".join(f"{level:g}" for level in _DEFAULTS.levels),
    show_default=True,
    help="Shares of the port range to measure at.",
)
@click.option(
    "--ports",
    type=click.IntRange(SMALLEST_RANGE, 50_000),
    default=_DEFAULTS.ports,
    show_default=True,
    help="Size of the port range; less where the limit of open files is in the way.",
)
@click.option(
    "--operations",
    type=click.IntRange(min=2),
    default=_DEFAULTS.operations,
    show_default=True,
    help="Connections timed at each level, for either way.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Draw the chart into this file too (needs fourtuple[plots]).",
)
@click.pass_context
def demo(
    ctx: click.Context,
    only: str | None,
    levels: tuple[float, ...],
    ports: int,
    operations: int,
    as_json: bool,
    svg: Path | None,
) -> None:
    """Show what connect() costs as ports run out, with and without fourtuple.

    Connections to one destination take up more and more of the local port range. At each level one
    is closed and one connected, over and over, once with the port left to the kernel and once with
    fourtuple's. It takes place in network namespaces of its own; nothing on the machine is touched.
    Interrupted, it prints what it has.
    """
    outputs: list[_Output] = [_print_json if as_json else _print]
    if svg is not None:
        outputs.append(_picture(svg))
    settings = Settings(levels=levels, ports=ports, operations=operations)
    families = [Family(only)] if only else [Family.IPV6, Family.IPV4]
    recordings: list[Recording] = []
    try:
        with interruptible():
            _measure(families, settings, recordings)
    except (KeyboardInterrupt, OSError):
        if recordings:
            _show(report_of(recordings, settings), outputs)
        raise
    report = report_of(recordings, settings)
    _show(report, outputs)
    ctx.exit(int(not report.runs))


def _picture(path: Path) -> _Output:
    # Imported before the measurement: after it is late to learn what is missing.
    try:
        from fourtuple.bench.demo.picture import svg
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    # After it is late, too, to learn that the file cannot be written.
    path.open("a").close()

    def draw(report: Report) -> None:
        if report.runs:
            path.write_text(svg(report), encoding="utf-8")

    return draw


def _measure(families: Iterable[Family], settings: Settings, recordings: list[Recording]) -> None:
    make_arena, refusal = possible_arena()
    if refusal is not None:
        click.echo(
            f"{refusal.strerror}. Measuring on this machine's own loopback instead, within its "
            f"port range and limit of open files.",
            err=True,
        )
    console = Console(stderr=True)
    # Without a thread that refreshes: it would run while a world is measured.
    columns = TextColumn("{task.description:<28}"), BarColumn(), TaskProgressColumn()
    with Progress(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        for family in families:
            recording = Recording(make_arena(family, settings), settings)
            recordings.append(recording)
            task = progress.add_task(f"{family.value}: starting", total=1.0)
            try:
                with closing(recording.steps()) as steps:
                    for step in steps:
                        text = f"{family.value}: {step.doing} {step.level}"
                        progress.update(task, description=text, completed=step.share)
                        progress.refresh()
            except Unsupported as error:
                click.echo(f"{family.value} is left out: {error.strerror}", err=True)
            progress.update(task, description=f"{family.value}: done", completed=1.0)


def _show(report: Report, outputs: Iterable[_Output]) -> None:
    for output in outputs:
        output(report)


def _print_json(report: Report) -> None:
    click.echo(json.dumps(document(report), indent=2))


def _print(report: Report) -> None:
    if not report.runs:
        return
    console = Console(highlight=False)
    for run in report.runs:
        console.print(table(run))
        console.print(chart(run, min(console.width, _CHART_WIDTH)))
        console.print()
    for text in (headline(report), *notes(report), footer(report)):
        console.print(text, soft_wrap=True)
