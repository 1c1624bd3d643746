"""The figures of the README: connect() as ports run out, repeated, and held against their goals.

    python benchmarks/connect_pressure.py

Prints Markdown, and progress on standard error. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import sys

import click
from goals import goals
from repetition import Repetition, repeat
from tables import section

from fourtuple.bench.demo.arena import Family, Settings
from fourtuple.bench.machine import this_machine


@click.command()
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True)
@click.option("--ports", type=click.IntRange(10_000), default=20_000, show_default=True)
@click.option("--operations", type=click.IntRange(2), default=1_000, show_default=True)
def main(repetitions: int, ports: int, operations: int) -> None:
    """Measure, print the tables, and judge them."""
    settings = Settings(ports=ports, operations=operations)
    done: dict[Family, list[Repetition]] = {Family.IPV6: [], Family.IPV4: []}
    for number in range(repetitions):
        for family, results in done.items():
            click.echo(f"repetition {number + 1} of {repetitions}: {family.value}", err=True)
            results.append(repeat(family, settings))
    click.echo(
        f"connect() to one destination, a range of {ports:,} ports, connections closed by reset; "
        f"median (least–greatest) of {repetitions} repetitions, {operations:,} operations a level "
        f"and way; {this_machine()}."
    )
    for family, results in done.items():
        click.echo("\n" + section(family, results))
    sys.exit(not all(goal.reached for results in done.values() for goal in goals(results)))


if __name__ == "__main__":
    main()
