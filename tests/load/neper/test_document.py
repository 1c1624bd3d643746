"""The JSON object."""

from __future__ import annotations

import json

from fourtuple.load.neper.counters import Counters
from fourtuple.load.neper.document import document
from fourtuple.load.neper.options import Crr
from fourtuple.load.neper.overflows import ListenDrops
from fourtuple.load.neper.program import Figures
from fourtuple.load.neper.transactions import TcpCrr
from load.neper.fakes import SECOND, histogram, outcome, trend


def test_it_has_every_figure_with_its_unit() -> None:
    counters = Counters(3, {111: 2}, {"kernel_choices": 4}, {"latency": histogram(100, 100, 700)})
    measured = Figures(trend((SECOND, 0), (3 * SECOND, 3)), counters, None)
    told = json.loads(
        json.dumps(
            document(
                TcpCrr(Crr(client=True, percentiles=(12.5,))), outcome(measured, drops=ListenDrops(1, 2)), {"cpus": 2}
            )
        )
    )
    expected = {
        "program": "tcp_crr",
        "role": "client",
        "machine": {"cpus": 2},
        "start_monotonic_s": 1.0,
        "measured_s": 2.0,
        "transactions": 3,
        "throughput_transactions_per_s": 1.5,
        "remote_rate": 7,
        "failures_by_errno": {"111": 2},
        "dead_flows": 0,
        "kernel_choices": 4,
        "listeners": {"overflows": 1, "drops": 2},
        "trouble": None,
    }
    assert told | expected == told
    assert told["failures"]["refused"] == 2
    assert told["settings"]["test_length"] == 10
    assert told["settings"]["ports"] == "kernel"
    assert told["usage_end"]["maxrss_kib"] == 2048
    latency = told["durations"]["latency"]
    assert latency["histogram"] == [{"up_to_ns": 100, "count": 2}, {"up_to_ns": 703, "count": 1}]
    assert latency["percentile_error"] == 1 / 128
    assert latency["percentiles_s"] == {"12.5": 1e-7, "50": 1e-7, "90": 7e-7, "99": 7e-7, "99.9": 7e-7}
    assert told["intervals"] == [
        {
            "start_s": 0.0,
            "length_s": 1.0,
            "transactions": 3,
            "transactions_per_s": 3.0,
            "p50_s": 1e-7,
            "p99_s": 2e-7,
            "failures": 0,
        }
    ]


def test_what_was_not_measured_is_null() -> None:
    nothing = Figures(trend(), Counters(histograms={"latency": histogram()}), None)
    told = document(TcpCrr(Crr()), outcome(nothing, remote_rate=None), {})
    assert told["throughput_transactions_per_s"] is None
    assert told["remote_rate"] is None
    assert told["listeners"] is None
    latency = told["durations"]["latency"]
    assert {latency["min_s"], latency["mean_s"], latency["percentiles_s"]["50"]} == {None}
