"""neper's command lines, as they are typed. Nothing runs: all are dry."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from fourtuple.cli.main import main
from fourtuple.cli.neper_console import progress
from fourtuple.load.neper.counters import Counters
from fourtuple.load.neper.recorder import SECOND, Interval
from load.neper.fakes import histogram


def tcp(*arguments: str, program: str = "tcp_crr") -> Result:
    return CliRunner().invoke(main, [program, "-n", *arguments])


def changed(command_line: str, program: str = "tcp_crr") -> dict[str, str]:
    """The options that are not as they are by default."""
    result = tcp(*command_line.split(), program=program)
    assert (result.exit_code, result.stderr) == (0, "")
    plain = tcp(program=program).output.splitlines()
    lines = result.output.splitlines()
    assert len(lines) == len(plain)
    return dict(line.split("=", 1) for line, before in zip(lines, plain, strict=True) if line != before)


@pytest.mark.parametrize(
    ("command_line", "options"),
    [
        (
            "-T 200 -F 30000 -6 --nolog -c -H server",
            {"num_threads": "200", "num_flows": "30000", "ipv6": "1", "nolog": "1", "client": "1", "host": "server"},
        ),
        ("-l -1000", {"test_length": "-1000", "total_transactions": "1000"}),
        ("-cHLOCAL", {"client": "1", "host": "LOCAL"}),
        ("-p 50,90,99", {"percentiles": "50,90,99,"}),
        ("-A -c", {"all_samples": "samples.csv", "client": "1"}),
        ("-A=x.csv", {"all_samples": "x.csv"}),
        ("-Ax.csv", {"all_samples": "x.csv"}),
        ("--all-samples=x.csv", {"all_samples": "x.csv"}),
        ("--log-rtt -c", {"log_rtt": "rtt_samples.txt", "client": "1"}),
        ("--log-rtt=x", {"log_rtt": "x"}),
        ("-m 8k", {"max_pacing_rate": "1000"}),
        ("--num-f 3 --num-f=5", {"num_flows": "5"}),
        ("--per 50 --iost 100", {"percentiles": "50,", "iostat_ms": "100"}),
        ("--magic 7 -XSd", {"magic": "7", "tcp_fastopen": "1", "stime_use_proc": "1", "debug": "1"}),
        ("--ports fourtuple -c --rate 5 --arrivals poisson --warmup 1 --engine epoll", {"client": "1"}),
    ],
)
def test_neper_spellings_work(command_line: str, options: dict[str, str]) -> None:
    found = changed(command_line)
    if "total_transactions" in options:
        assert found.pop("total_transactions") == options.pop("total_transactions")
    assert found == options


def test_durations_have_units() -> None:
    assert changed("-D 10us", "tcp_rr") == {"delay": "10000"}
    assert changed("--noburst 1ms", "tcp_rr") == {"noburst": "1000000"}


@pytest.mark.parametrize(
    ("command_line", "message"),
    [
        ("-c -T 2", "--num-flows 1 is below --num-threads 2: each thread needs a flow"),
        ("-l 0", "--test-length must be at least 1 second"),
        ("-F 3x", "Invalid value for '-F' / '--num-flows': '3x' is no whole number"),
        ("--num 3", "No such option '--num'"),
        ("--no-delay=0", "does not take a value"),
        ("foo", "unexpected extra argument (foo)"),
        ("--listen-backlog 1000000000", "is above net.core.somaxconn"),
        ("--arrivals odd", "'odd' is none of even, poisson"),
        ("--engine select", "'select' is none of epoll, io_uring"),
    ],
)
def test_wrong_usage_is_status_2_and_prints_no_options(command_line: str, message: str) -> None:
    result = tcp(*command_line.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
def test_help_has_every_flag_with_its_default(program: str) -> None:
    text = " ".join(tcp("-h", program=program).output.split())
    assert "-F, --num-flows INTEGER Connections over all threads. [default: 1]" in text
    assert "--ports kernel|fourtuple Who chooses the source ports (client). [default: kernel]" in text


def test_the_version_is_ours_and_nepers() -> None:
    assert tcp("-v").output.endswith("after neper 1.1.0\n")


def test_a_json_file_that_cannot_be_written_is_told_before_the_run() -> None:
    result = tcp("--json=/nowhere/x.json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "/nowhere/x.json" in result.stderr


def test_progress_tells_rate_latency_and_failures() -> None:
    counters = Counters(3000, {}, {}, {"latency": histogram(100_000, 250_000)})
    interval = Interval(1.0, 2.0, 3 * SECOND, counters)
    assert progress(interval, "transactions", 4) == "   3.0 s: 1,500 transactions/s, p99 250 us, 4 failures"
    assert progress(Interval(0.0, 1.0, SECOND, Counters(5)), "bytes_read", 0) == "   1.0 s: 5 bytes_read/s, 0 failures"
