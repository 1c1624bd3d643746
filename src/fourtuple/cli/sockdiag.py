"""``fourtuple sockdiag``: stress-ng's stressor of that name, with what it leaves unsaid."""

from __future__ import annotations

from pathlib import Path

import click

from fourtuple.cli.stress import Line, conclude, failure_lines, follow, instances_of, reserve, show, stressor_options
from fourtuple.load.stress.sockdiag import Sockdiag, SockdiagReport, open_sockdiag


@click.command()
@stressor_options("sockdiag")
@click.pass_context
def sockdiag(
    ctx: click.Context, instances: int, timeout: float, operations: int, yaml: Path | None, as_json: bool
) -> None:
    """Ask the kernel for all AF_UNIX sockets of the network namespace, over and over.

    The workload of stress-ng's sockdiag. A bogo operation is an attribute of a socket returned, so the rate depends on
    how many AF_UNIX sockets there are, which is printed beside it. Interrupted, it prints what it has.
    """
    settings = Sockdiag(instances=instances_of(instances), operations=operations)
    reserve(yaml)
    with open_sockdiag(settings) as running:
        finished = follow("sockdiag", running, timeout)
        report = running.report()
    show(report, _lines(report), yaml, as_json)
    conclude(ctx, report.metrics.used.complaints, finished)


def _lines(report: SockdiagReport) -> list[Line]:
    sockets = (
        f"{report.at_start:,} at the start, {report.least:,} at least, {report.greatest:,} at most, "
        f"{report.at_end:,} at the end"
    )
    if not report.greatest:
        sockets = "none in this network namespace, so there is nothing to count"
    return [
        ("AF_UNIX sockets", sockets),
        ("dumps", f"{report.dumps:,}, with {report.per_dump:,.1f} sockets each"),
        *failure_lines(report.failures),
    ]
