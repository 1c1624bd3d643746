"""fourtuple's workloads beside neper's own, and under pressure, as whole commands.

    python benchmarks/load_vs_neper.py --neper DIRECTORY

DIRECTORY holds the programs tcp_crr, tcp_rr and tcp_stream; without it what needs them is "not measured". Prints
Markdown, and progress on standard error. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from commands import Outcome, Tool, run
from goals import Goal
from tables import table, text

from fourtuple.bench.demo.timing import spread
from fourtuple.bench.machine import this_machine
from fourtuple.linux.netns import network_namespace, obtain_namespaces
from fourtuple.linux.sysctl import PortRange

WORKLOADS = [
    ("tcp_crr", 1, 1),
    ("tcp_crr", 1, 100),
    ("tcp_crr", 2, 1000),
    ("tcp_rr", 1, 1),
    ("tcp_rr", 1, 100),
    ("tcp_rr", 2, 1000),
    ("tcp_stream", 1, 1),
]
"""(workload, threads, flows) that are compared with neper."""

FLOWS = 19_000
NARROW = PortRange(10_000, 29_999)
WIDE = PortRange(1_024, 65_535)
SYSCTLS = {"net.core.somaxconn": 4096}


@click.command()
@click.option(
    "--neper", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Where neper's programs are."
)
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=3, show_default=True, help="Length of a run.")
@click.option("--long", type=click.IntRange(2), default=60, show_default=True, help="Seconds of the run for memory.")
def main(neper: Path | None, repetitions: int, seconds: int, long: int) -> None:
    """Measure, print the tables, and judge them."""
    obtain_namespaces()
    click.echo(f"Median (least–greatest) of {repetitions} repetitions of {seconds} s; {this_machine()}.")
    goals: list[Goal] = []
    if neper is None:
        click.echo("\nBeside neper: not measured (no --neper).")
    else:
        goals += beside_neper(Tool.of(neper), repetitions, seconds)
    goals += under_pressure(repetitions, seconds)
    goals += in_memory(seconds, long)
    click.echo()
    for goal in goals:
        click.echo(f"- {'PASS' if goal.reached else 'MISS'} {goal.text}")
    sys.exit(not all(goal.reached for goal in goals))


def beside_neper(neper: Tool, repetitions: int, seconds: int) -> Iterator[Goal]:
    """Compare with neper, in turns, each tool at both ends of its runs."""
    lines: list[Sequence[str]] = []
    for workload, threads, flows in WORKLOADS:
        name = f"{workload} -T {threads} -F {flows}"
        pairs: list[tuple[Outcome, Outcome]] = []
        for number in range(repetitions):
            click.echo(f"{name}: {number + 1} of {repetitions}", err=True)
            found: dict[str, Outcome] = {}
            for tool in (neper, Tool.ours()) if number % 2 else (Tool.ours(), neper):
                with network_namespace(sysctls=SYSCTLS):
                    both = ["-T", str(threads), "-l", str(seconds)]
                    found[tool.name] = run(tool, workload, both, ["-F", str(flows)])
            pairs.append((found["neper"], found["fourtuple"]))
        rate = spread([ours.throughput / theirs.throughput for theirs, ours in pairs])
        cpu = spread([ours.cpu / theirs.cpu for theirs, ours in pairs])
        lines.append(
            (
                name,
                text(spread([theirs.throughput for theirs, _ in pairs])),
                text(spread([ours.throughput for _, ours in pairs])),
                text(rate),
                text(cpu),
            )
        )
        yield Goal(f"{name}: at least neper's throughput: {rate.median:.2f} times", rate.median >= 1)
        yield Goal(f"{name}: at most neper's processor time: {cpu.median:.2f} times", cpu.median <= 1)
    head = ("/s (stream: Mbit/s)", "neper", "fourtuple", "fourtuple / neper", "processor time, fourtuple / neper")
    click.echo("\n" + table(head, lines))


def under_pressure(repetitions: int, seconds: int) -> Iterator[Goal]:
    """Compare the choosers of ports with nearly all in use, and with the same flows in a wide range."""
    ways = [("fourtuple", NARROW), ("kernel", NARROW), ("kernel", WIDE), ("fourtuple", WIDE)]
    rates: dict[tuple[str, PortRange], list[float]] = {way: [] for way in ways}
    costs: dict[tuple[str, PortRange], list[tuple[float, float]]] = {way: [] for way in ways}
    for number in range(repetitions):
        for way in ways:
            ports, within = way
            click.echo(f"pressure: {number + 1} of {repetitions}: {ports} in {within}", err=True)
            with network_namespace(port_range=within, sysctls=SYSCTLS):
                both = ["-T", "2", "-l", str(max(seconds, 5)), "--listen-backlog", "4096"]
                outcome = run(Tool.ours(), "tcp_crr", both, ["-F", str(FLOWS), "--ports", ports])
            rates[way].append(outcome.throughput)
            costs[way].append(outcome.apart)
        ways.reverse()
    lines = [
        (
            f"--ports {ports}",
            f"{within.low}-{within.high}",
            text(spread(found)),
            *(text(spread([cost[side] * 1e6 for cost in costs[ports, within]])) for side in range(2)),
        )
        for (ports, within), found in rates.items()
    ]
    click.echo(
        "\n"
        + table((f"tcp_crr -T 2 -F {FLOWS} -6", "port range", "transactions/s", "client, µs of CPU", "server"), lines)
    )
    pairs = zip(rates["fourtuple", NARROW], rates["kernel", WIDE], rates["kernel", NARROW], strict=True)
    of_wide, of_kernel = zip(*((ours / wide, ours / kernel) for ours, wide, kernel in pairs), strict=True)
    wide, kernel = spread(of_wide), spread(of_kernel)
    yield Goal(f"at 95 %: at least 0.9 of the rate in a wide range: {wide.median:.2f}", wide.median >= 0.9)
    yield Goal(f"at 95 %: at least 8 times the kernel's choice: {kernel.median:.1f}", kernel.median >= 8)


def in_memory(seconds: int, long: int) -> Iterator[Goal]:
    """Compare the client's memory for one flow and for many, and of a short run and a long one."""
    found: list[int] = []
    for flows, length in ((1, seconds), (FLOWS, seconds), (100, seconds), (100, long)):
        click.echo(f"memory: {flows} flows, {length} s", err=True)
        with network_namespace(port_range=WIDE, sysctls=SYSCTLS):
            both = ["-T", "1", "-l", str(length), "--listen-backlog", "4096"]
            found.append(run(Tool.ours(), "tcp_crr", both, ["-F", str(flows)]).resident)
    lone, many, short, lengthy = found
    each = (many - lone) * 1024 / FLOWS
    click.echo(
        f"\nThe client's greatest resident size: {lone:,} KiB with 1 flow, {many:,} KiB with {FLOWS:,}; with 100 flows "
        f"{short:,} KiB after {seconds} s, {lengthy:,} KiB after {long} s."
    )
    yield Goal(f"at most 1 KiB a flow: {each:.0f} bytes", each <= 1024)
    # What the interpreter itself moves between two runs of the same length.
    yield Goal(f"a run of {long} s does not grow: {lengthy - short} KiB", lengthy - short <= 1024)


if __name__ == "__main__":
    main()
