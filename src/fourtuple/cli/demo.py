"""``fourtuple demo``: what connect() costs as ports run out, with and without fourtuple."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from fourtuple.bench.arena import Arena, Family, Settings, host_arena, private_arena
from fourtuple.bench.chart import chart
from fourtuple.bench.document import document
from fourtuple.bench.levels import SMALLEST_RANGE
from fourtuple.bench.machine import this_machine
from fourtuple.bench.pressure import Measured, measure
from fourtuple.bench.report import Report, Run, footer, headline, notes
from fourtuple.bench.table import table
from fourtuple.errors import NamespacesRefused, Unsupported
from fourtuple.linux.netns import rehearse_namespaces

_INTERRUPTED = 130
_DEFAULTS = Settings()
_CHART_WIDTH = 80


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


# The rows measured so far are kept where an interruption finds them.
@dataclass
class _Measuring:
    arena: Arena
    rows: list[Measured] = field(default_factory=list[Measured])


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
    draw = None if svg is None else _picture()
    settings = Settings(levels=levels, ports=ports, operations=operations)
    families = [Family(only)] if only else [Family.IPV6, Family.IPV4]
    measuring: list[_Measuring] = []
    try:
        _measure(families, settings, measuring)
        status = 0 if any(one.rows for one in measuring) else 1
    except KeyboardInterrupt:
        click.echo("Interrupted.", err=True)
        status = _INTERRUPTED
    report = Report(
        this_machine(),
        settings,
        tuple(Run(one.arena, tuple(one.rows)) for one in measuring if one.rows),
    )
    if as_json:
        click.echo(json.dumps(document(report), indent=2))
    elif report.runs:
        _print(report)
    if svg is not None and draw is not None and report.runs:
        svg.write_text(draw(report), encoding="utf-8")
    ctx.exit(status)


def _picture() -> Callable[[Report], str]:
    # Before the measurement: after it is late to learn what is missing.
    try:
        from fourtuple.bench.picture import svg
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    return svg


def _measure(families: Iterable[Family], settings: Settings, measuring: list[_Measuring]) -> None:
    make_arena = _arenas()
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
            one = _Measuring(make_arena(family, settings))
            measuring.append(one)
            task = progress.add_task(f"{family.value}: starting", total=1.0)
            try:
                with closing(measure(one.arena, settings)) as steps:
                    for step in steps:
                        if isinstance(step, Measured):
                            one.rows.append(step)
                        else:
                            text = f"{family.value}: {step.doing} {step.level}"
                            progress.update(task, description=text, completed=step.share)
                            progress.refresh()
            except Unsupported as error:
                click.echo(f"{family.value} is left out: {error.strerror}", err=True)
            progress.update(task, description=f"{family.value}: done", completed=1.0)


def _arenas() -> Callable[[Family, Settings], Arena]:
    try:
        rehearse_namespaces()
    except NamespacesRefused as refusal:
        click.echo(
            f"{refusal.strerror}. Measuring on this machine's own loopback instead, within its "
            f"port range and limit of open files.",
            err=True,
        )
        return host_arena
    return private_arena


def _print(report: Report) -> None:
    console = Console(highlight=False)
    for run in report.runs:
        console.print(table(run))
        console.print(chart(run, min(console.width, _CHART_WIDTH)))
        console.print()
    for text in (headline(report), *notes(report), footer(report)):
        console.print(text, soft_wrap=True)
