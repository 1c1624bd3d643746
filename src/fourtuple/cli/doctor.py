"""``fourtuple doctor``: what this machine has, what is missing, and what each lack costs."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from typing import Final

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fourtuple.bench.machine import Machine, this_machine
from fourtuple.linux.facilities import kernel_facilities
from fourtuple.linux.features import Feature, attempt, connection_features, local_port_range, loopback
from fourtuple.ports.strategy import Strategy, best_strategy

_SPACE: Final = "fourtuple.ports.space"

_VERDICTS: Final[Mapping[Strategy, str]] = {
    Strategy.RANGE: "each socket gets a one-port range, without effect on others",
    Strategy.BIND: "no one-port range here, so sockets are bound; others pass over their ports",
    Strategy.KERNEL: "ports cannot be chosen here, so the kernel searches them as ever",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> None:
    """Tell what this machine has, what is missing, and what each lack costs.

    Every feature is tried, in the network that the command runs in, and nothing stays changed. The
    exit status is 1 if fourtuple cannot choose ports here.
    """
    machine = this_machine()
    features = [*connection_features(), *kernel_facilities(), _compiled(_SPACE)]
    # The library asks by a cheaper probe, which trusts the kernel to honour what it accepts.
    strategy = best_strategy(has_range=lambda: local_port_range(socket.AF_INET).present)
    verdict = _VERDICTS[strategy]
    if not loopback(socket.AF_INET).present:
        verdict += "; nothing was connected to try it, for want of loopback"
    if as_json:
        click.echo(_json(machine, features, strategy, verdict))
    else:
        _print(machine, features, strategy, verdict)
    ctx.exit(int(strategy is Strategy.KERNEL))


def _compiled(module: str) -> Feature:
    def action() -> str:
        spec = find_spec(module)
        if spec is None or not (spec.origin or "").endswith(tuple(EXTENSION_SUFFIXES)):
            raise OSError(errno.ENOEXEC, "runs as Python")
        return "compiled"

    return attempt(
        "compiled port space",
        "choosing a port takes longer, and threads must not share a connector; reinstall fourtuple to compile it",
        action,
    )


def _json(machine: Machine, features: Sequence[Feature], strategy: Strategy, verdict: str) -> str:
    report = {
        **asdict(machine),
        "features": {
            name: {"present": present, "detail": detail, "cost": cost} for name, present, detail, cost in features
        },
        "strategy": strategy.value,
        "verdict": verdict,
    }
    return json.dumps(report, indent=2)


def _print(machine: Machine, features: Sequence[Feature], strategy: Strategy, verdict: str) -> None:
    console = Console(highlight=False)
    console.print(f"Linux {machine.kernel} on {machine.architecture}, {machine.cpus} CPUs, Python {machine.python}")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("feature", "status", "detail"):
        table.add_column(heading)
    for name, present, detail, cost in features:
        if present:
            table.add_row(name, Text("ok", "green"), detail)
        else:
            text = Text.assemble(detail, (f"\ncost: {cost}", "yellow"))
            table.add_row(name, Text("LACKING", "bold red"), text)
    console.print(table)
    console.print(f"strategy [bold]{strategy.value}[/]: {verdict}")
