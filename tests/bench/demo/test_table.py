from __future__ import annotations

from io import StringIO

from rich.console import Console

from bench.demo.samples import arena, measured, run
from fourtuple.bench.demo.levels import Level
from fourtuple.bench.demo.report import Run
from fourtuple.bench.demo.table import table


def printed(one: Run) -> list[str]:
    console = Console(file=StringIO(), width=80)
    with console.capture() as capture:
        console.print(table(one))
    return capture.get().splitlines()


def test_each_level_has_its_row() -> None:
    rows = [line.split() for line in printed(run()) if "%" in line and "×" in line]
    assert rows == [
        ["5", "%", "50", "950", "16.0", "8.0", "160", "20.0", "10.0", "200", "0.8×", "1.0×"],
        ["50", "%", "500", "500", "300", "150", "3,000", "21.0", "10.5", "210", "14×", "1.1×"],
        ["95", "%", "950", "50", "600", "300", "6,000", "24.0", "12.0", "240", "25×", "1.2×"],
    ]


def test_eighty_columns_hold_the_widest_figures() -> None:
    wide = measured(Level(99.9, 19_980), 9_999, 999, size=20_000)
    lines = printed(Run(arena(), (wide,)))
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
