"""The counters of versions side by side as SVG: a group of bars for each counter, on a background of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .experiment import Outcome
from .summary import summaries
from .trace import COUNTERS

_NAMES = 170
_BARS = 420
_BAR = 14
_GAP = 10
_HUES = ("#c2410c", "#0e7490", "#4d7c0f", "#7e22ce", "#64748b", "#1d4ed8", "#be123c")


def svg(outcomes: Sequence[Outcome]) -> str:
    """Draw the mean of every counter that is not zero; the greatest of a group has the full length."""
    means = {outcome.version: summaries(outcome) for outcome in outcomes}
    parts: list[str] = []
    y = 60
    for name in COUNTERS:
        row = [(version, figures[name].mean) for version, figures in means.items()]
        most = max(mean for _, mean in row)
        if most == 0:
            continue
        parts.append(f'<text x="{_NAMES - 10}" y="{y + 11}" text-anchor="end">{escape(name.replace("_", " "))}</text>')
        for index, (version, mean) in enumerate(row):
            width = max(1.0, mean / most * _BARS) if mean else 0.0
            hue = _HUES[index % len(_HUES)]
            parts.append(f'<rect x="{_NAMES}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" fill="{hue}"/>')
            parts.append(f'<text x="{_NAMES + width + 6:.1f}" y="{y + 11}">{escape(version)}: {mean:,.1f}</text>')
            y += _BAR
        y += _GAP
    width, height = _NAMES + _BARS + 180, y + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="11" fill="#1f2937">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
        f'<text x="20" y="24" font-size="15" font-weight="bold">what one connect() does, mean</text>'
        f'<text x="20" y="42" fill="#6b7280">each counter to its own scale: its greatest mean has full length</text>'
    )
    return "\n".join([head, *parts, "</svg>", ""])
