"""tcp_crr and tcp_rr, server and client, from the command line to the last figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel.neper_programs import (
    DATA_PORT,
    Result,
    connections,
    ended,
    pair,
    run,
    start,
    started,
    wait_for_connections,
)

pytestmark = pytest.mark.usefixtures("netns")

FAILED = ["refused", "timed_out", "no_port", "reset", "closed", "unreachable", "files", "other"]


def assert_clean(result: Result) -> None:
    assert (result.status, result.errors) == (0, "")
    assert {kind: result.values[f"failed_{kind}"] for kind in FAILED} == dict.fromkeys(FAILED, "0")


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
@pytest.mark.parametrize("family", ["-4 -H 127.0.0.1", "-6 -H ::1"])
def test_so_many_transactions_are_done_by_all_threads(program: str, family: str) -> None:
    server, client = pair(program, f"{family[:2]} -T 2", f"{family} -T 2 -F 5 -l -1000 -p 50,99")
    assert_clean(client)
    assert client.values["total_transactions"] == client.values["num_transactions"] == "1000"
    assert client.number("dead_flows") == 0
    assert 0 < client.number("latency_min") <= client.number("latency_p50") <= client.number("latency_p99")
    assert client.number("latency_p99") <= client.number("latency_max")
    assert client.values["local_throughput"] == client.values["throughput"].partition(".")[0]
    assert (server.status, server.errors) == (0, "")
    assert server.values["remote_throughput"] == client.values["local_throughput"]
    assert client.values["remote_throughput"] == server.values["local_throughput"]
    # What is under way when the client stops may have been answered too.
    assert 1000 <= server.number("connections" if program == "tcp_crr" else "num_transactions") <= 1005


def test_seconds_count_from_the_first_transaction() -> None:
    _, client = pair("tcp_rr", "-6", "-6 -l 1 -F 2")
    assert_clean(client)
    start, end = client.number("time_start"), client.number("time_end")
    assert end - start >= 1.0
    assert client.number("num_samples") >= 5
    assert client.number("throughput") == pytest.approx(client.number("num_transactions") / (end - start), rel=0.05)


def test_the_parts_make_the_latency_of_a_connection() -> None:
    _, client = pair("tcp_crr", "", "-l -2000")
    whole = sum(client.number(f"{part}_mean") for part in ("connect", "request"))
    assert 0 < whole <= client.number("latency_mean")
    for part in ("connect", "request", "close"):
        assert client.number(f"{part}_min") <= client.number(f"{part}_p50") <= client.number(f"{part}_p99")


def test_ports_are_taken_in_turn_for_every_connection() -> None:
    # A client that asked any other port would lose flows.
    _, client = pair("tcp_crr", "--num-ports 3 -T 2", "--num-ports 3 -T 2 -F 5 -l -500")
    assert_clean(client)
    assert client.values["num_transactions"] == "500"


def test_addresses_are_taken_in_turn_with_ports_of_ours() -> None:
    arguments = "-4 -H 127.0.0.1 -L 127.0.0.2,127.0.0.3 --num-ports 2 --ports fourtuple -F 4 -l -500"
    _, client = pair("tcp_crr", "-4 --num-ports 2", arguments)
    assert_clean(client)
    assert client.values["kernel_choices"] == "0"


def test_fewer_transactions_than_threads_are_done() -> None:
    _, client = pair("tcp_rr", "", "-T 3 -F 3 -l -2")
    assert_clean(client)
    assert client.values["num_transactions"] == "2"


def test_flows_have_the_source_ports_that_were_asked_for() -> None:
    with started("tcp_rr"), started("tcp_rr", "-c", "-F", "3", "--source-port", "5000", "-l", "-1000000000"):
        wait_for_connections(DATA_PORT, 3)
        assert {local for local, remote in connections() if remote == DATA_PORT} == {5000, 5001, 5002}


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
def test_each_flow_keeps_its_source_port(program: str) -> None:
    _, client = pair(program, "", "--source-port 5000 -F 3 -T 2 -l -300")
    assert_clean(client)
    assert client.values["num_transactions"] == "300"


@pytest.mark.port_range(10000, 10009)
def test_with_time_wait_ports_run_out_and_that_is_told() -> None:
    _, client = pair("tcp_crr", "", "--time-wait -l -100")
    assert client.status == 1
    assert client.values["failed_no_port"] == client.values["dead_flows"] == "1"
    assert "all 1 flows are dead (1 no_port)" in client.errors


@pytest.mark.port_range(10000, 10099)
def test_ports_of_ours_serve_until_the_last_one() -> None:
    server, client = pair("tcp_crr", "-T 2", "-T 2 -F 100 -l -2000 --ports fourtuple")
    assert_clean(client)
    assert client.values["num_transactions"] == "2000"
    assert client.number("kernel_choices") + client.number("refused_ports") < 20
    assert server.number("most_open") >= 2


@pytest.mark.parametrize("arguments", ["--rate 500", "--rate 500 --arrivals poisson"])
@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
def test_an_open_loop_keeps_its_rate(program: str, arguments: str) -> None:
    _, client = pair(program, "", f"-F 20 -T 2 -l 1 {arguments}")
    assert_clean(client)
    done = client.number("num_transactions") + client.number("overdue")
    # Five standard deviations of a Poisson process around 500.
    assert done >= 380


def test_noburst_is_a_rate() -> None:
    _, client = pair("tcp_rr", "", "--noburst 5ms -F 4 -T 2 -l -20")
    assert_clean(client)
    assert client.number("throughput") <= 250


def test_a_delay_spaces_the_transactions_of_each_flow() -> None:
    _, client = pair("tcp_rr", "", "-D 50ms -F 2 -l -20")
    assert_clean(client)
    assert client.number("throughput") <= 50


def test_json_tells_everything(tmp_path: Path) -> None:
    files = [tmp_path / "server.json", tmp_path / "client.json"]
    pair("tcp_crr", f"--json {files[0]}", f"-F 3 -l 1 --warmup 0.3 --json {files[1]}")
    server, client = (json.loads(file.read_text()) for file in files)
    assert (server["role"], client["role"]) == ("server", "client")
    # Without the warm-up, which the intervals leave out too.
    assert client["measured_s"] == pytest.approx(sum(part["length_s"] for part in client["intervals"]), rel=0.05)
    latency = client["durations"]["latency"]
    assert sum(bucket["count"] for bucket in latency["histogram"]) == latency["count"]
    # The loop goes on while its counters are read at the end of the warm-up.
    assert latency["count"] == pytest.approx(client["transactions"], rel=0.01)
    assert sum(interval["transactions"] for interval in client["intervals"]) == client["transactions"]
    assert server["connections"] > client["transactions"]
    assert server["listeners"] == {"overflows": 0, "drops": 0}


def test_json_alone_is_all_there_is_on_standard_output() -> None:
    with started("tcp_rr") as server:
        process = start("tcp_rr", "-c", "-l", "-100", "--json")
        output, errors = process.communicate()
        assert ended(server).status == 0
    assert errors == ""
    assert json.loads(output)["transactions"] == 100


def test_files_of_samples_are_written(tmp_path: Path) -> None:
    samples, log = tmp_path / "samples.csv", tmp_path / "log.csv"
    arguments = f"-F 3 -T 2 -l 1 -I 0.1 -A={samples} --log-rtt={log} --logrtt-entries-per-flow 4"
    _, client = pair("tcp_crr", "", arguments)
    assert_clean(client)
    rows = [row.split(",") for row in samples.read_text().splitlines()[1:]]
    assert {(row[0], row[1]) for row in rows} == {("0", "0"), ("0", "1"), ("1", "0")}
    last = {(row[0], row[1]): int(row[3]) for row in rows}
    assert sum(last.values()) == client.number("num_transactions")
    assert client.values["rtt_transactions_logged"] == "12"
    entries = [[float(field) for field in row.split(",")] for row in log.read_text().splitlines()[1:]]
    assert len(entries) == 12
    assert min(entry[0] for entry in entries) == 0.0
    assert all(entry[3] > 0 for entry in entries)


def test_socket_options_are_on_both_ends() -> None:
    options = "--no-delay --congestion-control reno -m 10g -t 1 --freebind"
    _, client = pair("tcp_rr", options, f"{options} -l -100")
    assert_clean(client)
    _, client = pair("tcp_crr", "", "-X -l -100")
    assert_clean(client)


def test_iostat_and_pinned_threads() -> None:
    with started("tcp_rr", "-U") as server:
        process = start("tcp_rr", "-c", "-l", "1", "--iostat-ms", "200", "-U", "-T", "2", "-F", "2", "-S")
        output, errors = process.communicate()
        assert (ended(server).status, process.returncode, errors) == (0, 0, "")
    assert output.count("\nt=") >= 3
    assert output.index("total_run_time=") < output.index("allowed_core_num=") < output.index("\nt=")


def test_a_server_waits_for_as_many_clients_as_are_wanted() -> None:
    with started("tcp_rr", "--num-clients", "2") as server, started("tcp_rr", "-c", "-l", "-100") as first:
        second = run("tcp_rr", "-c", "-l", "-200")
        assert_clean(second)
        assert_clean(ended(first))
        served = ended(server)
    assert (served.status, served.errors) == (0, "")
    assert 300 <= served.number("num_transactions") <= 302


def test_few_samples_are_status_255() -> None:
    with started("tcp_rr") as server:
        client = run("tcp_rr", "-c", "-l", "-50", "--warmup", "60")
        assert ended(server).status == 0
    assert client.status == 255
    assert client.values["num_transactions"] == client.values["num_samples"] == "0"
    assert "throughput" not in client.values
    assert client.values["local_throughput"] == "0"
    assert "0 samples, and a throughput takes 2" in client.errors
