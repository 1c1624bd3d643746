"""The chart of a report as SVG, on a background of its own: it reads on light and dark pages.

It is a Vega-Lite specification, drawn by vl-convert. Importing this module needs the extra
``plots``.
"""

from __future__ import annotations

from typing import Any

from fourtuple.bench.demo.report import Report, Run, means, microseconds
from fourtuple.bench.demo.scale import LogScale, scale_around

try:
    import vl_convert
except ImportError as missing:
    raise ImportError("a picture needs vl-convert: pip install 'fourtuple[plots]'") from missing

# Two hues that stay apart in the common forms of colour blindness.
_KERNEL = "#c2410c"
_FOURTUPLE = "#0e7490"
_INK = "#1f2937"
_FAINT = "#6b7280"
_GRID = "#e5e7eb"

_Spec = dict[str, Any]


def svg(report: Report) -> str:
    """Draw mean connect() by share of the ports in use: a panel for each run, one log scale."""
    return vl_convert.vegalite_to_svg(specification(report))


def specification(report: Report) -> _Spec:
    """Return the chart as Vega-Lite 5. ``report`` has at least one level measured."""
    runs = [run for run in report.runs if run.measured]
    # Room for the figures and the names, or titles would move out of their way.
    scale = scale_around(means(runs), room=2.7)
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": "#ffffff",
        "padding": 24,
        "bounds": "flush",
        "spacing": 90,
        "title": {
            "text": "connect() to one destination as its ports run out",
            "subtitle": f"µs, mean of {report.settings.operations:,} calls, log scale; {report.machine}",
            "anchor": "start",
            "offset": 16,
            "color": _INK,
            "fontSize": 19,
            "subtitleColor": _FAINT,
            "subtitleFontSize": 12,
        },
        "config": {
            "font": "Helvetica, Arial, sans-serif",
            "view": {"stroke": None},
            "axis": {
                "ticks": False,
                "gridColor": _GRID,
                "domainColor": _FAINT,
                "labelAngle": 0,
                "labelColor": _INK,
                "labelFontSize": 12,
                "labelPadding": 8,
                "titleColor": _FAINT,
                "titleFontWeight": "normal",
                "titlePadding": 10,
            },
        },
        "hconcat": [_panel(run, scale) for run in runs],
    }


def _panel(run: Run, scale: LogScale) -> _Spec:
    title = f"{run.arena.family.value}, {run.arena.ports.size:,} ports"
    rows = [
        {
            "level": str(row.level),
            "kernel": row.kernel.mean,
            "kernel_text": microseconds(row.kernel.mean),
            "fourtuple": row.fourtuple.mean,
            "fourtuple_text": microseconds(row.fourtuple.mean),
        }
        for row in run.measured
    ]
    return {
        "width": 400,
        "height": 300,
        "title": {
            "text": title,
            "anchor": "start",
            "frame": "group",
            "offset": 12,
            "color": _INK,
            "fontSize": 14,
        },
        "data": {"values": rows},
        "encoding": {"x": {"field": "level", "sort": None, "title": "ports in use", "axis": {"grid": False}}},
        "layer": [
            *_series("kernel", "the kernel's choice", _KERNEL, "fourtuple", scale),
            *_series("fourtuple", "fourtuple's choice", _FOURTUPLE, "kernel", scale),
        ],
    }


# A line, a figure at each point on the side away from the other line, and the name at the end.
def _series(field: str, name: str, colour: str, other: str, scale: LogScale) -> list[_Spec]:
    height = {
        "y": {
            "field": field,
            "type": "quantitative",
            "title": None,
            "scale": {"type": "log", "domain": [scale.low, scale.high], "nice": False},
            "axis": {"domain": False, "values": scale.ticks()},
        }
    }
    figures = height | {"text": {"field": f"{field}_text"}}
    above = f"datum.{field} >= datum.{other}"
    last = {"window": [{"op": "last_value", "field": "level", "as": "last"}], "frame": [None, None]}
    # The name keeps clear of the figures of the last points, over which it lies.
    extremes = [{"op": "max", "field": field, "as": "top"}, {"op": "min", "field": field, "as": "bottom"}]
    near = {"window": extremes, "frame": [-2, 0]}
    at_end = [last, near, {"filter": "datum.level === datum.last"}]
    figure = {"type": "text", "color": colour, "fontSize": 12}
    tag = {"type": "text", "text": name, "color": colour, "fontSize": 14, "fontWeight": "bold"}
    tag |= {"align": "right", "dx": 20}
    return [
        {
            "mark": {
                "type": "line",
                "color": colour,
                "strokeWidth": 2.5,
                "point": {"size": 60, "color": colour},
            },
            "encoding": height,
        },
        {
            "transform": [{"filter": above}],
            "mark": figure | {"dx": -9, "dy": -14},
            "encoding": figures,
        },
        {
            "transform": [{"filter": f"!({above})"}],
            "mark": figure | {"dy": 15},
            "encoding": figures,
        },
        {
            "transform": [*at_end, {"filter": above}],
            "mark": tag | {"dy": -34},
            "encoding": {"y": height["y"] | {"field": "top"}},
        },
        {
            "transform": [*at_end, {"filter": f"!({above})"}],
            "mark": tag | {"dy": 34},
            "encoding": {"y": height["y"] | {"field": "bottom"}},
        },
    ]
