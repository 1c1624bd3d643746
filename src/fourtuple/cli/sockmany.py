"""``fourtuple sockmany``: stress-ng's stressor of that name, with what it leaves unsaid."""

from __future__ import annotations

import socket
from pathlib import Path

import click

from fourtuple.cli.stress import Line, conclude, failure_lines, follow, instances_of, reserve, show, stressor_options
from fourtuple.linux.addresses import interface_addresses
from fourtuple.load.stress.sockmany import (
    FIRST_PORT,
    LARGEST_MESSAGE,
    LOWEST_PORT,
    Ports,
    Sockmany,
    SockmanyReport,
    open_sockmany,
)


class _Interface(click.ParamType[str]):
    name = "NAME"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            addresses = interface_addresses(str(value), socket.AF_INET)
        except OSError as error:
            self.fail(error.strerror or str(error), param, ctx)
        if not addresses:
            self.fail(f"the interface {value} has no IPv4 address", param, ctx)
        return addresses[0]


@click.command()
@stressor_options("sockmany")
@click.option(
    "--sockmany-port",
    "port",
    type=click.IntRange(LOWEST_PORT, 65535),
    default=FIRST_PORT,
    show_default=True,
    help="The port of the first instance; the others have the ports after it.",
)
@click.option(
    "--sockmany-if",
    "host",
    type=_Interface(),
    help="Connect to this interface's IPv4 address instead of 127.0.0.1.",
)
@click.option(
    "--sockmany-max-size",
    "size",
    type=click.IntRange(1, LARGEST_MESSAGE),
    default=8,
    show_default=True,
    help="Bytes that the server sends over each connection.",
)
@click.option(
    "--ports",
    type=click.Choice([ports.value for ports in Ports]),
    default=Ports.KERNEL.value,
    show_default=True,
    help="Who chooses the source ports.",
)
@click.pass_context
def sockmany(
    ctx: click.Context,
    instances: int,
    timeout: float,
    operations: int,
    port: int,
    host: str | None,
    size: int,
    ports: str,
    yaml: Path | None,
    as_json: bool,
) -> None:
    """Connect as often as descriptors and ports allow, close everything, and begin again.

    The workload of stress-ng's sockmany: each instance is a server, which sends a few bytes over each connection and
    closes it first, and a client, which keeps its end open until it can have no more. A bogo operation is a return of
    the server's accept(). Interrupted, it prints what it has.
    """
    settings = Sockmany(
        instances=instances_of(instances),
        operations=operations,
        host=host or "127.0.0.1",
        port=port,
        size=size,
        ports=Ports(ports),
    )
    reserve(yaml)
    with open_sockmany(settings) as running:
        finished = follow("sockmany", running, timeout)
        report = running.report()
    show(report, _lines(report), yaml, as_json)
    conclude(ctx, _problems(report), finished)


def _problems(report: SockmanyReport) -> list[str]:
    problems = list(report.metrics.used.complaints)
    if not report.connections:
        problems.append("no connection was made; the results say what failed and how often")
    return problems


def _lines(report: SockmanyReport) -> list[Line]:
    lines = [
        ("connections", f"{report.connections:,}, at most {report.most_held:,} held at once by a client"),
        ("rounds", f"{report.rounds:,}"),
        *failure_lines(report.failures),
    ]
    if report.ports is Ports.FOURTUPLE:
        lines.append(("ports", f"{report.kernel_choices:,} left to the kernel, {report.refused_ports:,} refused by it"))
    return lines
