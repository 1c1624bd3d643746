"""A report as one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fourtuple.bench.demo.levels import Level
from fourtuple.bench.demo.pressure import Measured
from fourtuple.bench.demo.report import Report, Run, files_needed, headline, own_cost
from fourtuple.bench.demo.timing import Timing

Document = dict[str, Any]


def document(report: Report) -> Document:
    """Return a report as objects that JSON knows.

    Durations have their unit in their name, ``_us`` for microseconds.
    """
    return {
        "measurement": "connect() as ports towards one destination become scarce",
        "headline": headline(report),
        "machine": asdict(report.machine),
        "settings": {
            "levels_percent": list(report.settings.levels),
            "operations": report.settings.operations,
            "block": report.settings.block,
            "timed": "address, socket() and connect(), not close()",
            "closed_by": "reset",
        },
        "runs": [_run(run) for run in report.runs],
    }


def _run(run: Run) -> Document:
    return {
        "family": run.arena.family.value,
        "private_namespace": run.arena.private,
        "port_range": [run.arena.ports.low, run.arena.ports.high],
        "complete": len(run.measured) == len(run.arena.ladder.reached),
        "levels": [_measured(run, row) for row in run.measured],
        "not_measured": [_beyond(level) for level in run.arena.ladder.beyond],
    }


def _measured(run: Run, row: Measured) -> Document:
    return {
        "percent": row.level.percent,
        "held": row.level.held,
        "free": row.free,
        "kernel": _timing(row.kernel),
        "fourtuple": _timing(row.fourtuple),
        "kernel_to_fourtuple": row.ratio,
        "fourtuple_to_its_first": own_cost(run, row),
    }


def _timing(timing: Timing) -> Document:
    return {"mean_us": timing.mean, "p50_us": timing.p50, "p99_us": timing.p99}


def _beyond(level: Level) -> Document:
    return {
        "percent": level.percent,
        "held": level.held,
        "open_files_needed": files_needed(level),
    }
