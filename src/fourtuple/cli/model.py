"""``fourtuple model``: what the kernel's port search does, version by version."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from fourtuple.cli.interrupts import interruptible
from fourtuple.model.experiment import Experiment, Filling, Outcome, run
from fourtuple.model.picture import svg
from fourtuple.model.summary import document, summaries
from fourtuple.model.trace import COUNTERS
from fourtuple.model.versions import LEDGER, SERIES

# Versions that a terminal of 80 columns has room for beside the first.
_SIDE_BY_SIDE = 2


class _Range(click.ParamType[tuple[int, int]]):
    name = "LOW-HIGH"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        low, dash, high = str(value).partition("-")
        if not (dash and low.isdecimal() and high.isdecimal()):
            self.fail(f"{value!r} is no range of ports such as 10000-29999", param, ctx)
        return int(low), int(high)


@click.group()
def model() -> None:
    """Tell what the kernel's search for a port does, version by version."""


@model.command()
@click.option("--version", "names", multiple=True, metavar="VERSION", help="A version; several stand side by side.")
@click.option("--series", is_flag=True, help="The versions of the RCU series, patch by patch.")
@click.option("--flows", type=int, default=15000, show_default=True, help="Connections that are there before.")
@click.option("--range", "ports", type=_Range(), default="10000-29999", show_default=True, help="The port range.")
@click.option("-6", "--ipv6", is_flag=True, help="Over IPv6.")
@click.option(
    "--filled",
    type=click.Choice([filling.value for filling in Filling]),
    default=Filling.KERNEL.value,
    show_default=True,
    help="Who spread them over the range.",
)
@click.option("--connects", type=int, default=100, show_default=True, help="Connections traced.")
@click.option("--seed", type=int, default=1, show_default=True, help="For all that the kernel draws at random.")
@click.option("--steps", is_flag=True, help="Print every step of the last connection too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")
@click.option("--svg", "picture", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Draw it, too.")
def connect(
    names: tuple[str, ...],
    series: bool,
    flows: int,
    ports: tuple[int, int],
    ipv6: bool,
    filled: str,
    connects: int,
    seed: int,
    steps: bool,
    as_json: bool,
    picture: Path | None,
) -> None:
    """Trace connect() to a destination whose ports are partly taken.

    Before each connection one of those that are there, chosen at random, is reset.
    """
    versions = (*(SERIES if series else ()), *names) or (LEDGER[-1].version,)
    low, high = ports
    try:
        experiment = Experiment(
            low=low,
            high=high,
            flows=flows,
            connects=connects,
            family=socket.AF_INET6 if ipv6 else socket.AF_INET,
            filling=Filling(filled),
            seed=seed,
        )
        with interruptible():
            outcomes = [run(name, experiment) for name in dict.fromkeys(versions)]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if not steps:
        outcomes = [replace(outcome, steps=()) for outcome in outcomes]
    if picture is not None:
        picture.write_text(svg(outcomes), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(document(outcomes), indent=2))
    else:
        _print(outcomes)


@model.command()
def versions() -> None:
    """Print the ledger: the versions, their commits, and what each changed."""
    for row in LEDGER:
        click.echo(f"{row.version:<14} {row.change}")
        for commit, subject in row.commits:
            click.echo(f'{"":<14}   {commit} ("{subject}")')


def _print(outcomes: Sequence[Outcome]) -> None:
    console = Console(highlight=False)
    first, *others = outcomes
    if not others:
        console.print(_distribution(first))
    for start in range(0, len(others), _SIDE_BY_SIDE):
        console.print(_side_by_side([first, *others[start : start + _SIDE_BY_SIDE]]))
    for outcome in outcomes:
        for step in outcome.steps:
            click.echo(f"{outcome.version}: {step.action} {step.number}")


def _distribution(outcome: Outcome) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, title=f"{outcome.version}: one connect()", title_justify="left")
    table.add_column("counter")
    for heading in ("mean", "least", "median", "p95", "greatest"):
        table.add_column(heading, justify="right")
    for name, figures in summaries(outcome).items():
        table.add_row(
            name.replace("_", " "),
            f"{figures.mean:,.1f}",
            f"{figures.least:,}",
            f"{figures.median:,.1f}",
            f"{figures.p95:,.1f}",
            f"{figures.greatest:,}",
        )
    return table


# Means, and of each version after the first its ratio to that one.
def _side_by_side(outcomes: Sequence[Outcome]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=0, title="one connect(), mean", title_justify="left")
    table.add_column("counter")
    figures = [summaries(outcome) for outcome in outcomes]
    table.add_column(outcomes[0].version, justify="right")
    for outcome in outcomes[1:]:
        table.add_column(outcome.version, justify="right")
        table.add_column("ratio", justify="right", style="dim")
    for name in COUNTERS:
        first = figures[0][name].mean
        cells = [f"{first:,.1f}"]
        for other in figures[1:]:
            mean = other[name].mean
            cells += [f"{mean:,.1f}", f"{mean / first:.3g}" if first else "-"]
        table.add_row(name.replace("_", " "), *cells)
    return table
