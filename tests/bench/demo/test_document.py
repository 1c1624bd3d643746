from __future__ import annotations

import json

import pytest

from bench.demo.samples import SETTINGS, arena, measured, report, run
from fourtuple.bench.demo.document import document
from fourtuple.bench.demo.levels import Level, ladder
from fourtuple.bench.demo.report import Run


def test_it_is_json_and_names_its_units() -> None:
    whole = json.loads(json.dumps(document(report())))
    assert list(whole) == ["measurement", "headline", "machine", "settings", "runs"]
    assert whole["machine"] == {
        "kernel": "6.18.0",
        "architecture": "x86_64",
        "cpu": "Example 9000",
        "cpus": 4,
        "python": "3.12.1",
    }
    assert [one["family"] for one in whole["runs"]] == ["IPv6", "IPv4"]
    assert whole["runs"][0]["port_range"] == [10000, 10999]
    assert whole["runs"][0]["levels"][2] == {
        "percent": 95.0,
        "held": 950,
        "free": 50,
        "kernel": {"mean_us": 600, "p50_us": 300, "p99_us": 6000},
        "fourtuple": {"mean_us": 24, "p50_us": 12, "p99_us": 240},
        "kernel_to_fourtuple": 25,
        "fourtuple_to_its_first": pytest.approx(1.2),
    }


def test_an_interrupted_run_says_that_it_is_incomplete() -> None:
    finished, cut = document(report(run(), run([(16, 20)])))["runs"]
    assert (finished["complete"], cut["complete"]) == (True, False)


def test_what_was_out_of_reach_is_in_it() -> None:
    where = arena(steps=ladder(SETTINGS.levels, 1000, 700))
    (one,) = document(report(Run(where, (measured(Level(5, 50), 1, 1),))))["runs"]
    assert one["not_measured"] == [{"percent": 95.0, "held": 950, "open_files_needed": 970}]
