"""What goes wrong around a run, and what is said then. Nothing hangs: each test ends long before its time-out."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fourtuple.linux.netns import NetworkNamespace
from kernel.neper_programs import (
    CONTROL_PORT,
    DATA_PORT,
    FOURTUPLE,
    Result,
    ended,
    run,
    start,
    started,
    wait_for_connections,
)

pytestmark = pytest.mark.usefixtures("netns")

ENDLESS = ("-l", "-1000000000")


def assert_told(result: Result, status: int, *texts: str) -> None:
    assert result.status == status, result
    for text in texts:
        assert text in result.errors


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
def test_a_server_that_dies_is_noticed(program: str) -> None:
    with started(program, "-T", "2") as server:
        client = start(program, "-c", "-T", "2", "-F", "4", "-l", "600")
        wait_for_connections(CONTROL_PORT, 1)
        wait_for_connections(DATA_PORT, 1)
        server.kill()
        result = ended(client)
    assert_told(result, 1, "the run ended after", "the server closed the control connection")
    assert "num_transactions" in result.values
    assert "remote_throughput" not in result.values


def test_a_client_that_dies_leaves_the_server_its_figures() -> None:
    with started("tcp_rr") as server, started("tcp_rr", "-c", *ENDLESS) as client:
        wait_for_connections(DATA_PORT, 1)
        client.kill()
        result = ended(server)
    assert_told(result, 0, "went without DONE (it closed the control connection)")
    assert result.values["remote_throughput"] == "0"
    assert "num_transactions" in result.values


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGALRM, 0)])
def test_a_signal_ends_a_client_that_prints_all(number: signal.Signals, status: int) -> None:
    with started("tcp_crr") as server:
        with started("tcp_crr", "-c", *ENDLESS) as client:
            wait_for_connections(CONTROL_PORT, 1)
            wait_for_connections(DATA_PORT, 1)
            client.send_signal(number)
            result = ended(client)
        assert (result.status, result.errors) == (status, "")
        assert result.number("num_transactions") > 0
        assert result.values["remote_throughput"] == "0"
        served = ended(server)
        assert (served.status, served.errors) == (0, "")
        assert served.values["remote_throughput"] == result.values["local_throughput"]


def test_a_signal_ends_a_server_that_tells_its_client() -> None:
    with started("tcp_rr") as server, started("tcp_rr", "-c", *ENDLESS) as client:
        wait_for_connections(DATA_PORT, 1)
        server.send_signal(signal.SIGINT)
        served = ended(server)
        assert served.status == 130
        assert served.number("num_transactions") > 0
        assert_told(ended(client), 1, "the server ended the run")


def test_an_interrupt_before_there_is_a_server_is_an_interrupt() -> None:
    with started("tcp_rr", "-c", "--logtostderr") as client:
        assert client.stderr is not None
        assert "no control connection with" in client.stderr.readline()
        client.send_signal(signal.SIGINT)
        _, errors = client.communicate()
    assert client.returncode == 130
    assert errors.endswith("Interrupted.\n")


def test_another_program_is_turned_away_and_counted() -> None:
    with started("tcp_rr") as server:
        assert_told(run("tcp_crr", "-c"), 1, "ended the control connection 0 of 72 bytes into its ACK")
        assert run("tcp_rr", "-c", "-l", "-10").status == 0
        assert ended(server).values["invalid_secret_count"] == "1"


def test_neither_silence_nor_garbage_keeps_a_client_from_its_server() -> None:
    with started("tcp_rr") as server:
        assert run("tcp_crr", "-c").status == 1
        with socket.create_connection(("127.0.0.1", CONTROL_PORT)), socket.socket() as other:
            other.connect(("127.0.0.1", CONTROL_PORT))
            other.sendall(os.urandom(100))
            assert run("tcp_rr", "-c", "-l", "-10").status == 0
            assert ended(server).status == 0


@pytest.mark.parametrize(
    ("port", "flag"), [(CONTROL_PORT, "--control-port 12866"), (DATA_PORT, "--port 12867"), (12869, "--port 12869")]
)
def test_a_port_in_use_is_told(port: int, flag: str) -> None:
    with socket.create_server(("127.0.0.1", port), reuse_port=True):
        result = run("tcp_crr", "--num-ports", "3")
    assert_told(result, 1, f"{flag}: another program listens there (on 0.0.0.0)", "choose another port")


def test_a_foreign_address_is_told() -> None:
    assert_told(run("tcp_crr", "-H", "192.0.2.1"), 1, "no interface of this machine has the address 192.0.2.1")


def test_an_unreachable_server_is_told_at_once() -> None:
    result = run("tcp_crr", "-c", "-H", "192.0.2.1")
    assert_told(result, 1, "no server at 192.0.2.1, port 12866 (Network is unreachable, for 0 s)")


def test_unreachable_data_ports_end_the_run() -> None:
    with started("tcp_crr") as server:
        result = run("tcp_crr", "-c", "-P", "7777", "-F", "3", "-l", "600")
        assert ended(server).status == 0
    assert_told(result, 1, "all 3 flows are dead (3 refused)")
    assert result.values["failed_refused"] == result.values["dead_flows"] == "3"


@pytest.mark.port_range(10000, 10049)
@pytest.mark.parametrize("ports", ["kernel", "fourtuple"])
def test_flows_without_a_port_are_told(ports: str) -> None:
    with started("tcp_rr"):
        result = run("tcp_rr", "-c", "-F", "60", "-l", "-1000", "--ports", ports)
    assert_told(result, 0, "10 of 60 flows died (10 no_port)")
    assert (result.values["failed_no_port"], result.values["num_transactions"]) == ("10", "1000")


def test_listeners_that_were_full_are_told(netns: NetworkNamespace) -> None:
    with started("tcp_crr", "--listen-backlog", "1") as server:
        # Of every ten the kernel holds two; the rest wait for another SYN until the server is awake.
        with started("tcp_crr", "-c", "-F", "10", "-l", "-10", "--wait-start", "1") as client:
            wait_for_connections(CONTROL_PORT, 1)
            server.send_signal(signal.SIGSTOP)
            while not overflows():
                pass
            server.send_signal(signal.SIGCONT)
            assert ended(client).status == 0
        result = ended(server)
    assert_told(result, 0, "raise --listen-backlog, 1 now, and net.core.somaxconn with it")
    assert result.number("listen_overflows") > 0


def overflows() -> int:
    text = Path("/proc/thread-self/net/netstat").read_text(encoding="ascii")
    names, values = (line.split() for line in text.splitlines() if line.startswith("TcpExt:"))
    return int(values[names.index("ListenOverflows")])


def run_limited(hard: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program that may open 64 files, or ``hard`` if it asks for more."""
    limit = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, {hard}))"
    command = [sys.executable, "-c", f"{limit}; os.execv(sys.argv[1], sys.argv[1:])", *FOURTUPLE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_more_flows_than_files_are_told_with_the_limit() -> None:
    result = run_limited(64, "tcp_crr", "-c", "-F", "100")
    assert result.returncode == 1
    assert "--num-flows 100 needs 117 open files and this process may have 64" in result.stderr
    assert "ulimit -n 117" in result.stderr


def test_the_limit_of_files_is_raised_where_it_may_be() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with started("tcp_rr"):
        result = run_limited(hard, "tcp_rr", "-c", "-F", "100", "-l", "-100")
    assert (result.returncode, result.stderr) == (0, "")


def test_an_option_that_the_kernel_refuses_is_told() -> None:
    result = run("tcp_crr", "--congestion-control", "nothing")
    assert_told(result, 1, "--congestion-control nothing: the kernel refuses", "available are ", "reno")


def test_a_file_of_samples_that_cannot_be_written_is_told() -> None:
    with started("tcp_rr"):
        result = run("tcp_rr", "-c", "-A=/nowhere/x.csv")
    assert_told(result, 1, "--all-samples /nowhere/x.csv: No such file or directory")


def test_a_suicide_is_punctual_and_says_so() -> None:
    with started("tcp_rr", "-s", "1") as server:
        output, _ = server.communicate()
    assert server.returncode == 255
    assert output.endswith("timeout handler\n")
