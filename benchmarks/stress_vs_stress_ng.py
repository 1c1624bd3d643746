"""sockmany and sockdiag against stress-ng's, interleaved.

    python benchmarks/stress_vs_stress_ng.py

Prints Markdown, and progress on standard error. The exit status is 1 if a goal is missed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import click
from goals import Goal
from stress_runs import STRESS_NG, Pair, Setting, run_pair
from tables import table, text

from fourtuple.bench.demo.timing import spread
from fourtuple.bench.machine import this_machine
from fourtuple.linux.netns import obtain_namespaces

WITHIN = 0.1
"""How far from stress-ng's rate the median may be."""
HEAD = ("stressor", "instances", "AF_UNIX sockets", "stress-ng", "fourtuple", "fourtuple / stress-ng")


@click.command()
@click.option("--repetitions", type=click.IntRange(1), default=5, show_default=True)
@click.option("--seconds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--sockets", type=click.IntRange(1), default=100, show_default=True, help="AF_UNIX sockets for sockdiag.")
def main(repetitions: int, seconds: int, sockets: int) -> None:
    """Measure, print the table, and judge it."""
    if STRESS_NG is None:
        click.echo("not measured: stress-ng is not installed (Debian's package has the same name)")
        return
    obtain_namespaces()
    settings = [
        Setting(stressor, instances, seconds, sockets if stressor == "sockdiag" else 0)
        for stressor in ("sockmany", "sockdiag")
        for instances in (1, 2)
    ]
    done: dict[Setting, list[Pair]] = {setting: [] for setting in settings}
    for number in range(repetitions):
        for setting, pairs in done.items():
            click.echo(f"repetition {number + 1} of {repetitions}: {setting.stressor}, {setting.instances}", err=True)
            pairs.append(run_pair(setting, fourtuple_first=number % 2 == 0))
    version = subprocess.check_output([STRESS_NG, "--version"], text=True).split(" (")[0]
    goals: list[Goal] = []
    lines: list[Sequence[str]] = []
    for setting, pairs in done.items():
        ratio = spread([pair.ratio for pair in pairs])
        rates = spread([pair.stress_ng for pair in pairs]), spread([pair.fourtuple for pair in pairs])
        there = f"{pairs[0].population:,}"
        lines.append((setting.stressor, str(setting.instances), there, *map(text, rates), text(ratio)))
        what = f"{setting.stressor} × {setting.instances}: within {WITHIN:.0%} of stress-ng's rate: {ratio.median:.2f}"
        goals.append(Goal(what, abs(ratio.median - 1) <= WITHIN))
    click.echo(
        f"Bogo operations a second of real time, {seconds} s each, in turns; median (least–greatest) of {repetitions} "
        f"pairs; {version}; {this_machine()}.\n\n{table(HEAD, lines)}"
    )
    click.echo("\n" + "\n".join(f"- {'PASS' if goal.reached else 'MISS'} {goal.text}" for goal in goals))
    sys.exit(not all(goal.reached for goal in goals))


if __name__ == "__main__":
    main()
