"""--engine: either side's loops may be of either kind, and nobody on the other side sees which."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel.neper_programs import CONTROL_PORT, DATA_PORT, ended, pair, run, start, started, wait_for_connections

pytestmark = pytest.mark.usefixtures("netns")

ENGINES = ["epoll", "io_uring"]


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
@pytest.mark.parametrize("at_server", ENGINES)
@pytest.mark.parametrize("at_client", ENGINES)
def test_engines_meet_one_another(program: str, at_server: str, at_client: str) -> None:
    both = "-6 -T 2 -Q 100 -R 9000"
    server, client = pair(program, f"{both} --engine {at_server}", f"{both} -F 5 -l -1000 -p 99 --engine {at_client}")
    assert (server.status, server.errors, client.status, client.errors) == (0, "", 0, "")
    assert client.values["total_transactions"] == "1000"
    assert 1000 <= server.number("connections" if program == "tcp_crr" else "num_transactions") <= 1005
    assert client.number("dead_flows") == 0
    assert 0 < client.number("latency_min") <= client.number("latency_p99") <= client.number("latency_max")


def test_a_run_of_seconds_tells_everything(tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    both = "--engine io_uring --num-ports 3"
    pair("tcp_crr", both, f"{both} -F 50 -T 2 -l 1 -I 0.2 --warmup 0.2 --json {file}")
    client = json.loads(file.read_text())
    assert client["settings"]["engine"] == "io_uring"
    assert set(client["failures"].values()) == {0}
    assert sum(interval["transactions"] for interval in client["intervals"]) == client["transactions"] > 0
    # The parts of a transaction are one submission.
    assert client["durations"]["latency"]["count"] > 0
    assert client["durations"]["connect"]["count"] == 0


def test_a_server_that_dies_is_noticed() -> None:
    with started("tcp_rr", "--engine", "io_uring") as server:
        client = start("tcp_rr", "-c", "-F", "4", "-l", "600", "--engine", "io_uring")
        wait_for_connections(CONTROL_PORT, 1)
        wait_for_connections(DATA_PORT, 1)
        server.kill()
        result = ended(client)
    assert result.status == 1
    assert "the server closed the control connection" in result.errors
    assert "num_transactions" in result.values


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
def test_the_port_space_is_refused_by_name(program: str) -> None:
    result = run(program, "-c", "--engine", "io_uring", "--ports", "fourtuple")
    assert result.status == 2
    assert "--engine io_uring and --ports fourtuple exclude each other" in result.errors


def test_a_stream_has_one_engine() -> None:
    result = run("tcp_stream", "-c", "--engine", "io_uring")
    assert result.status == 2
    assert "--engine" in result.errors
