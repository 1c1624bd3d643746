"""The chart of a run in a terminal: the means at each level on one logarithmic scale."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from fourtuple.bench.demo.pressure import Measured
from fourtuple.bench.demo.report import Run, means, microseconds
from fourtuple.bench.demo.scale import LogScale, scale_around

_STYLES = {"kernel": "red", "fourtuple": "cyan"}

# Columns of the level at the left, and of the figure on either side of the points.
_LEVEL = 8
_FIGURE = 8


def chart(run: Run, width: int) -> Group:
    """Draw a run in ``width`` columns.

    Each level is a line with a point for each way and its mean beside it.
    """
    scale = scale_around(means([run]), room=1.1)
    columns = max(width - _LEVEL - 2 * _FIGURE, 10)
    title = Text.assemble(
        f"{run.arena.family.value}: mean connect() by share of the ports in use   ",
        ("● fourtuple", _STYLES["fourtuple"]),
        "   ",
        ("○ kernel", _STYLES["kernel"]),
    )
    lines = [_line(row, scale, columns) for row in run.measured]
    return Group(title, *lines, _axis(scale, columns))


def _line(row: Measured, scale: LogScale, columns: int) -> Text:
    points = [("fourtuple", "●", row.fourtuple.mean), ("kernel", "○", row.kernel.mean)]
    (left, left_mark, low), (right, right_mark, high) = sorted(points, key=lambda point: point[2])
    start = _column(low, scale, columns)
    # Points that fall together stand side by side, or one would hide the other.
    end = max(_column(high, scale, columns), start + 1)
    return Text.assemble(
        f"{row.level!s:>{_LEVEL}}",
        (f"{microseconds(low):>{_FIGURE + start - 1}} ", _STYLES[left]),
        (left_mark, _STYLES[left]),
        ("─" * (end - start - 1), "dim"),
        (right_mark, _STYLES[right]),
        (f" {microseconds(high)}", _STYLES[right]),
    )


def _axis(scale: LogScale, columns: int) -> Text:
    text = " " * (_LEVEL + columns + 2 * _FIGURE)
    for value in scale.ticks():
        label = f"{value:g}"
        at = _LEVEL + _FIGURE + _column(value, scale, columns) - len(label) // 2
        # Where ticks crowd, the later one is left out.
        if text[at - 1 : at + len(label) + 1].isspace():
            text = text[:at] + label + text[at + len(label) :]
    return Text(f"{text.rstrip()} µs", style="dim")


def _column(value: float, scale: LogScale, columns: int) -> int:
    return round(scale.place(value) * (columns - 1))
