"""The io_uring engine beside the epoll engine, both at both ends.

    python benchmarks/io_uring_vs_epoll.py

Prints Markdown, and progress on standard error. The exit status is 1 where io_uring is clearly worse: where all
repetitions say so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import click
from engine_side import Sample
from goals import Goal
from tables import table, text

from fourtuple.bench.demo.timing import spread
from fourtuple.bench.machine import this_machine
from fourtuple.linux.netns import network_namespace, obtain_namespaces

CELLS = [(workload, *size) for workload in ("tcp_crr", "tcp_rr") for size in ((1, 1), (1, 100), (2, 1000))]
ENGINES = ["epoll", "io_uring"]
SYSCTLS = {"net.core.somaxconn": 4096}
WARM_UP = 0.3
"""Seconds between the start of the client and the measurement."""

_SIDE = Path(__file__).with_name("engine_side.py")
_POLICIES = {"other": os.SCHED_OTHER, "batch": os.SCHED_BATCH}


@click.command()
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seconds", type=click.FloatRange(0.1), default=1.5, show_default=True, help="Length of a measurement.")
@click.option(
    "--policy",
    type=click.Choice(list(_POLICIES)),
    default="other",
    show_default=True,
    help="Scheduling policy; under batch a woken process does not interrupt the one that woke it.",
)
def main(repetitions: int, seconds: float, policy: str) -> None:
    """Measure, print the table, and judge it."""
    obtain_namespaces()
    os.sched_setscheduler(0, _POLICIES[policy], os.sched_param(0))
    click.echo(f"Median (least–greatest) of {repetitions} repetitions of {seconds} s; {this_machine()}.\n")
    lines: list[Sequence[str]] = []
    goals: list[Goal] = []
    for workload, threads, flows in CELLS:
        name = f"{workload} -T {threads} -F {flows}"
        found: dict[str, list[tuple[Sample, Sample]]] = {engine: [] for engine in ENGINES}
        for number in range(repetitions):
            click.echo(f"{name}: {number + 1} of {repetitions}", err=True)
            for engine in ENGINES if number % 2 else reversed(ENGINES):
                with network_namespace(sysctls=SYSCTLS):
                    found[engine].append(_run(engine, workload, threads, flows, seconds))
        pairs = list(zip(found["epoll"], found["io_uring"], strict=True))
        rate = spread([ours[0].rate / theirs[0].rate for theirs, ours in pairs])
        client = spread([ours[0].cpu / theirs[0].cpu for theirs, ours in pairs])
        server = spread([ours[1].cpu / theirs[1].cpu for theirs, ours in pairs])
        both = spread([(ours[0].cpu + ours[1].cpu) / (theirs[0].cpu + theirs[1].cpu) for theirs, ours in pairs])
        lines.append((name, *map(text, (rate, both, client, server))))
        goals.append(Goal(f"{name}: no clear loss of throughput: {rate.median:.2f} times", rate.high >= 1))
        goals.append(Goal(f"{name}: no clear loss of processor time: {both.median:.2f} times", both.low <= 1))
    head = ("io_uring / epoll", "throughput", "processor time a transaction", "of the client", "of the server")
    click.echo(table(head, lines) + "\n")
    for goal in goals:
        click.echo(f"- {'PASS' if goal.reached else 'MISS'} {goal.text}")
    sys.exit(not all(goal.reached for goal in goals))


def _run(engine: str, workload: str, threads: int, flows: int, seconds: float) -> tuple[Sample, Sample]:
    # The client's and the server's figures, of the same seconds.
    arguments = [engine, workload, str(threads), str(flows), str(seconds)]
    with _side("server", *arguments) as server, _side("client", *arguments) as client:
        threading.Event().wait(WARM_UP)
        for side in (server, client):
            side[0].write("measure\n")
            side[0].flush()
        return _sample(client), _sample(server)


@contextmanager
def _side(*arguments: str) -> Generator[tuple[IO[str], IO[str]], None, None]:
    process = subprocess.Popen(
        [sys.executable, str(_SIDE), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        pipes = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        if pipes[1].readline() != "ready\n":
            raise ChildProcessError(f"{' '.join(arguments)}: ended before it ran")
        yield pipes


def _sample(side: tuple[IO[str], IO[str]]) -> Sample:
    return Sample(**json.loads(side[1].readline()))


if __name__ == "__main__":
    main()
