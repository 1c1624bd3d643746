"""Sizes, limits and ends that few runs meet."""

from __future__ import annotations

import resource
import signal
import socket
import subprocess
import sys

import pytest

from fourtuple.load.neper.wire import SIZE, Kind, Message
from kernel.neper_programs import (
    CONTROL_PORT,
    DATA_PORT,
    LONGEST,
    ended,
    pair,
    run,
    start,
    started,
    wait_for_connections,
)

pytestmark = pytest.mark.usefixtures("netns")

ENGINES = pytest.mark.parametrize("engine", ["epoll", "io_uring"])


@ENGINES
@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr"])
def test_responses_larger_than_the_buffers_of_sockets(program: str, engine: str) -> None:
    both = "-Q 7 -R 20000000"
    server, client = pair(program, f"{both} --engine {engine}", f"{both} -F 3 -l -6")
    assert (server.status, client.status, client.errors) == (0, 0, "")
    assert client.values["num_transactions"] == "6"


@pytest.mark.parametrize("flags", ["", "-S"])
def test_a_server_without_a_descriptor_left_prints_its_results(flags: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60)); "
    code += "from fourtuple.cli.entry import main; sys.argv = ['fourtuple', 'tcp_rr', *sys.argv[1:]]; main()"
    assert limits[0] > 200
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as it:
        client = run("tcp_rr", "-c", "-F", "100", "-l", "1")
        server = ended(it)
    assert server.status == 0
    assert server.number("failed_files") > 0
    assert server.values["remote_throughput"] == client.values["local_throughput"]
    assert client.values["remote_throughput"] == server.values["local_throughput"]


@pytest.mark.parametrize("program", ["tcp_crr", "tcp_rr", "tcp_stream"])
def test_flows_without_a_connection_are_told(program: str) -> None:
    # A queue for two connections, which nobody accepts: the SYNs of the others are dropped.
    with (
        socket.create_server(("127.0.0.1", DATA_PORT), backlog=1),
        socket.create_server(("127.0.0.1", CONTROL_PORT)) as control,
    ):
        control.settimeout(LONGEST)
        client = start(program, "-c", "-H", "127.0.0.1", "-F", "9", "-l", "1")
        with control.accept()[0] as peer:
            for answer in (Message(Kind.ACK, 42, threads=1, flows=9, test_length=1), Message(Kind.BYE, 42)):
                assert len(peer.recv(SIZE, socket.MSG_WAITALL)) == SIZE
                peer.sendall(answer.pack())
            result = ended(client)
    assert result.values["unconnected_flows"] == "7"
    assert "7 of 9 flows had no connection in the whole run" in result.errors


@pytest.mark.parametrize("flag", ["--log-rtt", "--all-samples"])
def test_a_file_that_cannot_be_written_is_told_before_the_run(flag: str) -> None:
    with started("tcp_rr") as server:
        result = run("tcp_rr", "-c", f"{flag}=/no/such/place.csv")
        assert server.poll() is None
        assert (result.status, result.values.get("num_transactions")) == (1, None)
        assert f"{flag} /no/such/place.csv: No such file or directory" in result.errors
        assert run("tcp_rr", "-c", "-l", "-1").status == 0
        assert ended(server).status == 0


def test_a_signal_ends_the_wait_for_the_other_clients() -> None:
    with started("tcp_rr", "--num-clients", "2") as server, started("tcp_rr", "-c", "-l", "-1000000000") as other:
        wait_for_connections(DATA_PORT, 1)  # else the signal below may meet an interpreter that is still starting
        first = start("tcp_rr", "-c", "-l", "-1")
        while "throughput=" not in (line := first.stdout.readline() if first.stdout else ""):
            assert line
        first.send_signal(signal.SIGINT)
        output, errors = first.communicate(timeout=30)
        other.send_signal(signal.SIGINT)
        ended(other)
        ended(server)
    assert first.returncode == 130
    assert "stopped by a signal before the server answered DONE" in errors
    assert "local_throughput=" in output


def test_a_server_that_is_stopped_says_so_and_its_rate() -> None:
    with started("tcp_rr") as server:
        client = start("tcp_rr", "-c", "-l", "600")
        wait_for_connections(DATA_PORT, 1)
        server.send_signal(signal.SIGTERM)
        result = ended(client)
        assert ended(server).status == 0
    assert "the server ended the run" in result.errors
    assert "remote_throughput" in result.values


def test_connections_are_counted_where_nothing_was_done() -> None:
    server, _ = pair("tcp_rr", "-Q 2", "-F 3 -l 1 -Q 1")
    assert server.number("connections") == server.number("most_open") == 3


def test_an_address_that_is_not_ours_is_told_by_its_flag() -> None:
    result = run("tcp_crr", "-c", "-H", "127.0.0.1", "-L", "192.0.2.7")
    assert result.status == 1
    assert "--local-hosts 192.0.2.7: Cannot assign requested address" in result.errors
