"""The model's speed, its prediction of candidates per connect() against the live kernel, and how look-ups scale.

    python benchmarks/model.py

Prints Markdown, and progress on standard error. The exit status is 1 if a goal is missed.

How many candidates the live kernel tried is not visible, but the port it chose is, and the ports that were taken are
known: all connections of the namespace are the benchmark's. What a choice implies follows from two bounds. The search
passed only taken ports: it tried at most the run of taken ports of one parity before the chosen one, and that one. And
it started behind where the search before it ended: the kernel moves its hint by what was tried, plus 2 ports (or up to
14 more, when it tried less than that). The smaller bound counts, plus the whole first parity where the other one was
chosen. It errs by the random increment alone, 7 candidates at most and only for short searches; a new offset every
10 s moves one start in thousands.
"""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Iterator, Sequence

import click
from goals import Goal
from model_concurrent import scalings
from tables import table

from fourtuple.bench.machine import this_machine
from fourtuple.linux.limits import raise_file_limit
from fourtuple.linux.netns import network_namespace, obtain_namespaces
from fourtuple.linux.sockopt import RESET_LINGER
from fourtuple.linux.sysctl import PortRange
from fourtuple.model.experiment import Experiment, fill
from fourtuple.model.kernel import Kernel
from fourtuple.model.versions import version

LEVELS = (5, 50, 75, 95)
PORTS = PortRange(10_000, 17_999)
"""Of the comparison with the live kernel: both ends' sockets are one process's, and the limit of open files holds."""

CONNECTS = 4000


@click.command()
@click.option("--connects", type=click.IntRange(1), default=1_000_000, show_default=True, help="Of the speed run.")
def main(connects: int) -> None:
    """Measure, print the tables, and judge them."""
    obtain_namespaces()
    raise_file_limit()
    click.echo(f"{this_machine()}.\n")
    goals = [*speed(connects), *predictions(), *scaling()]
    click.echo()
    for goal in goals:
        click.echo(f"- {'PASS' if goal.reached else 'MISS'} {goal.text}")
    sys.exit(not all(goal.reached for goal in goals))


def speed(connects: int) -> Iterator[Goal]:
    """Model connects at 95 % of the default range."""
    experiment = Experiment(low=32768, high=60999, flows=26820)
    kernel = Kernel(version("6.18"))
    click.echo("filling 95 % of 28,232 ports", err=True)
    held = fill(kernel, experiment)
    click.echo(f"{connects:,} connects", err=True)
    start = time.perf_counter()
    done = kernel.churn(held, connects)
    seconds = time.perf_counter() - start
    each = done.candidates / connects
    click.echo(
        f"{connects:,} modelled connects at 95 % of 28,232 ports: {seconds:.1f} s, {each:,.0f} candidates and "
        f"{done.cache_lines / connects:,.0f} cache lines each."
    )
    million = seconds / connects * 1e6
    yield Goal(f"a million modelled connects in under 60 s: {million:.1f} s", million < 60)


def predictions() -> Iterator[Goal]:
    """Compare candidates per connect with what the live kernel's choices imply."""
    lines: list[Sequence[str]] = []
    for level in LEVELS:
        click.echo(f"candidates at {level} %", err=True)
        model, kernel = predicted(level), live(level)
        lines.append((f"{level} %", f"{model:,.2f}", f"{kernel:,.2f}", f"{model / kernel:.3f}"))
        text = f"at {level} %: candidates per connect within 10 % of the live kernel's: {model / kernel - 1:+.1%}"
        yield Goal(text, abs(model / kernel - 1) <= 0.1)
    ports = PORTS.high - PORTS.low + 1
    click.echo(
        "\n" + table((f"candidates per connect, {ports:,} ports", "predicted", "live", "predicted / live"), lines)
    )


def scaling() -> Iterator[Goal]:
    """Compare two threads that look up with one."""
    click.echo("look-ups by threads", err=True)
    found = scalings()
    lines = [(name, f"{it.one / 1e6:.1f}", f"{it.two / 1e6:.1f}", f"{it.ratio:.2f}") for name, it in found.items()]
    click.echo("\n" + table(("million look-ups/s", "one thread", "two threads", "ratio"), lines))
    limit = found["nothing shared"].ratio
    text = f"two threads look up at least 1.8 times as fast as one, RCU: {found['RCU'].ratio:.2f} (of {limit:.2f} here)"
    yield Goal(text, found["RCU"].ratio >= 1.8)


def implied(choices: list[tuple[int, int]], taken: set[int]) -> float:
    """Return the mean candidates of searches, each (port reset before it, port chosen); ``taken`` before them all."""
    low, size = PORTS.low, PORTS.high - PORTS.low + 1
    tried = 0
    start = choices[0][1]
    for freed, chosen in choices:
        taken.discard(freed)
        distance = (chosen - chosen % 2 - start) % size // 2
        run = 0
        while run < distance and low + (chosen - low - 2 * run - 2) % size in taken:
            run += 1
        tried += run + 1 + (size // 2 if chosen % 2 != low % 2 else 0)
        taken.add(chosen)
        start = chosen - chosen % 2 + 2
    return tried / len(choices)


def live(level: int) -> float:
    """Return the candidates that a connect() takes here with that share of the ports in use, as far as it shows."""
    with network_namespace(port_range=PORTS), socket.create_server(("127.0.0.1", 80), backlog=4096) as server:
        accepted: list[socket.socket] = []

        def connect() -> socket.socket:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_LINGER)
            sock.connect(("127.0.0.1", 80))
            accepted.append(server.accept()[0])
            return sock

        held = [connect() for _ in range(_flows(level))]
        taken = {sock.getsockname()[1] for sock in held}
        chance = random.Random(1)
        choices: list[tuple[int, int]] = []
        for _ in range(CONNECTS):
            place = chance.randrange(len(held))
            freed = held[place].getsockname()[1]
            held[place].close()
            accepted[place].close()
            held[place] = connect()
            accepted[place] = accepted.pop()
            choices.append((freed, held[place].getsockname()[1]))
        for sock in held + accepted:
            sock.close()
        return implied(choices, taken)


def predicted(level: int) -> float:
    """Return what the model says."""
    experiment = Experiment(low=PORTS.low, high=PORTS.high, flows=_flows(level))
    kernel = Kernel(version("6.18"))
    kernel.configure(ip_local_port_range=(PORTS.low, PORTS.high))
    return kernel.churn(fill(kernel, experiment), CONNECTS).candidates / CONNECTS


def _flows(level: int) -> int:
    return (PORTS.high - PORTS.low + 1) * level // 100


if __name__ == "__main__":
    main()
