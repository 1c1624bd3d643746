"""The output, line by line."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fourtuple.load.neper.counters import Counters
from fourtuple.load.neper.options import Crr, Rr
from fourtuple.load.neper.overflows import ListenDrops
from fourtuple.load.neper.program import Figures, Line
from fourtuple.load.neper.report import closing, cpus, opening, results
from fourtuple.load.neper.transactions import TcpCrr, TcpRr
from load.neper.fakes import SECOND, histogram, outcome, trend

USAGE = """\
utime_start=0.250000
utime_end=0.250000
stime_start=1.500000
stime_end=1.500000
maxrss_start=2048
maxrss_end=2048
minflt_start=10
minflt_end=10
majflt_start=0
majflt_end=0
nvcsw_start=7
nvcsw_end=7
nivcsw_start=3
nivcsw_end=3
"""
FAILED = "failed_timed_out failed_no_port failed_reset failed_closed failed_unreachable failed_files failed_other"


def text(lines: Iterable[Line]) -> str:
    return "".join(f"{key}={value}\n" for key, value in lines)


def figures(*samples: tuple[int, int], logged: int | None = None) -> Figures:
    counters = Counters(
        3,
        {111: 2},
        {"kernel_choices": 4},
        {"latency": histogram(100_000, 100_000, 250_000), "connect": histogram(1000, 3000)},
    )
    return Figures(trend(*samples), counters, logged)


def test_the_opening_ends_with_the_length() -> None:
    assert text(opening(TcpCrr(Crr()))).splitlines()[-2:] == ["magic=42", "total_run_time=10"]
    assert text(opening(TcpCrr(Crr(test_length=-1000)))).splitlines()[-1] == "total_transactions=1000"


def test_a_client_prints_its_statistics() -> None:
    program = TcpCrr(Crr(client=True, percentiles=(50.0, 99.9)))
    measured = figures((5 * SECOND + 7, 0), (7 * SECOND + 7, 2001), logged=2)
    assert text(results(program, outcome(measured))) == (
        f"invalid_secret_count=1\ntime_start=5.000000007\n{USAGE}"
        "num_transactions=3\nrtt_transactions_logged=2\n"
        "latency_min=0.000100000\nlatency_max=0.000250000\nlatency_mean=0.000150000\nlatency_stddev=0.000070711\n"
        "latency_p50=0.000100351\nlatency_p99.9=0.000250000\n"
        "num_samples=2\ntime_end=7.000000007\ncorrelation_coefficient=1.00\nthroughput=1000.50\n"
    )


def test_too_few_samples_end_the_statistics() -> None:
    printed = text(results(TcpCrr(Crr(client=True)), outcome(figures((5 * SECOND, 1)))))
    assert printed.endswith("num_samples=1\n")


def test_without_transactions_there_is_no_latency() -> None:
    nothing = Figures(trend(), Counters(histograms={"latency": histogram()}), None)
    printed = text(results(TcpCrr(Crr(client=True)), outcome(nothing)))
    assert "num_transactions=0\nlatency_min=nan\nlatency_max=nan\nlatency_mean=nan\nlatency_stddev=nan\n" in printed


def test_a_server_of_tcp_crr_prints_no_statistics_and_one_of_tcp_rr_no_latency() -> None:
    assert text(results(TcpCrr(Crr()), outcome(figures()))).endswith("nivcsw_end=3\n")
    served = Figures(trend((0, 0), (SECOND, 3)), Counters(3, {}, {"connections": 1}), None)
    printed = text(results(TcpRr(Rr(percentiles=(50.0,))), outcome(served)))
    assert "num_transactions=3\nlatency_min=0.000000000\nlatency_max=0.000000000\n" in printed
    assert "latency_p50=0.000000000\nnum_samples=2\n" in printed


def test_what_neper_does_not_tell_follows_its_last_line() -> None:
    printed = text(closing(TcpCrr(Crr(client=True)), outcome(figures(), drops=ListenDrops(5, 6))))
    zeros = "".join(f"{key}=0\n" for key in FAILED.split())
    assert printed == (
        f"local_throughput=1000\nremote_throughput=7\nfailed_refused=2\n{zeros}dead_flows=0\nkernel_choices=4\n"
        "listen_overflows=5\nlisten_drops=6\n"
        "connect_min=0.000001000\nconnect_mean=0.000002000\nconnect_p50=0.000001003\nconnect_p99=0.000003000\n"
        "connect_max=0.000003000\n"
    )


def test_a_rate_that_nobody_told_is_left_out() -> None:
    printed = text(closing(TcpCrr(Crr(client=True)), outcome(figures(), remote_rate=None)))
    assert printed.startswith("local_throughput=1000\nfailed_refused=2\n")


@pytest.mark.parametrize(
    ("numbers", "ranges"), [([0, 1], "0-1"), ([3], "3"), ([0, 2, 3, 4, 8], "0,2-4,8"), ([1, 3], "1,3")]
)
def test_cpus_are_told_as_ranges(numbers: list[int], ranges: str) -> None:
    assert text(cpus(numbers)) == f"allowed_core_num={len(numbers)}\nallowed_cores={ranges}\n"


def test_the_rate_that_the_other_side_is_told_is_whole() -> None:
    measured = figures((0, 0), (SECOND, 1999))
    assert TcpCrr(Crr(client=True)).control_rate(measured) == 1999
    assert TcpCrr(Crr()).control_rate(measured) == 0
    assert TcpRr(Rr()).control_rate(figures()) == 0
