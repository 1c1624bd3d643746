"""tcp_stream from the control connection to the last line, both sides in one network namespace."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from fourtuple.linux.tcp_info import TcpState
from fourtuple.load.neper.client import run_client
from fourtuple.load.neper.outcome import Outcome
from fourtuple.load.neper.program import Line
from fourtuple.load.neper.recorder import Interval
from fourtuple.load.neper.server import run_server
from fourtuple.load.neper.stopping import Bell
from fourtuple.load.neper.stream import TcpStream
from fourtuple.load.neper.stream_options import StreamOptions
from kernel.servers import until

pytestmark = pytest.mark.usefixtures("netns")

COMMAND = [sys.executable, "-m", "fourtuple", "tcp_stream", "--nolog"]
CONTROL_PORT = 12866
DATA_PORT = 12867
MEGABYTE = 1_000_000
PATIENCE = 30.0


class Side:
    """A side of a run, and a console that remembers."""

    def __init__(self, options: dict[str, Any], each_interval: Callable[[], object] = lambda: None) -> None:
        self.program = TcpStream(StreamOptions(**options))
        self.printed: list[Line] = []
        self.notices: list[str] = []
        self.outcome: Outcome | None = None
        self._each_interval = each_interval

    def lines(self, lines: Iterable[Line]) -> None:
        """Keep results."""
        self.printed += lines

    def notice(self, text: str) -> None:
        """Keep what is not a result."""
        self.notices.append(text)

    def interval(self, interval: Interval) -> None:
        """Do what is to be done in the middle of the run."""
        self._each_interval()

    def run(self) -> Outcome:
        """Run until the end."""
        run = run_client if self.program.options.client else run_server
        with closing(Bell()) as bell:
            self.outcome = run(self.program, self, bell)
        return self.outcome

    def __getitem__(self, key: str) -> int:
        return int(dict(self.printed)[key])

    @property
    def failures(self) -> dict[str, int]:
        """Those that happened, by kind."""
        kinds = {key.removeprefix("failed_"): int(value) for key, value in self.printed if key.startswith("failed_")}
        return {kind: count for kind, count in kinds.items() if count}


def sockets(port: int, state: TcpState) -> int:
    """How many sockets with that local port are in that state."""
    tables = [Path(f"/proc/thread-self/net/{table}").read_text().splitlines()[1:] for table in ("tcp", "tcp6")]
    entries = [line.split() for table in tables for line in table]
    found = [(int(local.rpartition(":")[2], 16), int(number, 16)) for _, local, _, number, *_ in entries]
    return found.count((port, state))


def listening() -> bool:
    """Whether a server waits for control connections."""
    return sockets(CONTROL_PORT, TcpState.LISTEN) > 0


@contextmanager
def serving(*, each_interval: Callable[[], object] = lambda: None, **options: Any) -> Generator[Side, None, None]:
    server = Side(options, each_interval)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(listening)
    yield server
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the server does not end"


def run(server: dict[str, Any], client: dict[str, Any]) -> tuple[Side, Side]:
    """Run both for a second."""
    with serving(**server) as there:
        here = Side({"client": True, "test_length": 1, "ipv4": True, **client})
        here.run()
    assert (here.failures, there.failures) == ({}, {})
    assert (here.notices, there.notices) == ([], [])
    assert here["dead_flows"] == 0
    # What one side says of itself is what the other was told.
    assert here["local_throughput"] == there["remote_throughput"]
    assert here["remote_throughput"] == there["local_throughput"]
    return there, here


def keys(side: Side) -> list[str]:
    return [key for key, _ in side.printed]


def test_the_client_writes_and_the_server_reports() -> None:
    server, client = run({}, {})
    assert server["local_throughput"] > 8 * MEGABYTE
    assert client["local_throughput"] == 0
    statistics = ["num_samples", "time_end", "correlation_coefficient", "throughput", "throughput_units"]
    assert keys(server)[16:23] == [*statistics, "local_throughput", "remote_throughput"]
    assert keys(client)[16:18] == ["local_throughput", "remote_throughput"]
    # A side that does not report has a beginning too.
    assert dict(client.printed)["time_start"] != "0.000000000"
    assert client["bytes_written"] > MEGABYTE


def test_ipv6_flows_over_threads_and_ports() -> None:
    common = {"ipv4": False, "ipv6": True, "num_ports": 2, "num_threads": 2}
    server, _ = run(common, common | {"num_flows": 7})
    assert server["connections"] == 7


def test_maerts() -> None:
    server, client = run({"enable_tcp_maerts": True}, {"enable_tcp_maerts": True, "num_flows": 2})
    assert client["local_throughput"] > 8 * MEGABYTE
    assert server["local_throughput"] == 0
    assert server["bytes_written"] > MEGABYTE


@pytest.mark.parametrize(
    ("flags", "connections"),
    [({"split_bidir": True}, 4), ({"enable_read": True, "enable_write": True}, 2)],
    ids=["split", "shared"],
)
def test_both_directions(flags: dict[str, Any], connections: int) -> None:
    # As many threads as connections: which way one goes is counted over all threads.
    server, client = run(flags, flags | {"num_flows": 2, "num_threads": 2})
    assert server["connections"] == connections
    # Neper's server writes one buffer with --split-bidir.
    assert min(server["local_throughput"], client["local_throughput"]) > 8 * MEGABYTE


def test_zero_copy_both_ways() -> None:
    server, client = run({"rx_zerocopy": True, "buffer_size": 65536}, {"zerocopy": True, "buffer_size": 65536})
    assert server["bytes_mmaped"] > MEGABYTE
    assert 0 < server["percent_mmaped"] <= 100
    # Over loopback the kernel copies all the same, and says so.
    assert client["copied_sends"] > 0
    assert client["zerocopy_sends"] == 0
    place = keys(server).index("bytes_mmaped")
    assert keys(server)[place : place + 4] == [
        "bytes_mmaped",
        "percent_mmaped",
        "local_throughput",
        "remote_throughput",
    ]


@pytest.mark.parametrize("flags", [{"edge_trigger": True}, {"skip_rx_copy": True}, {"no_cork": True}])
def test_other_ways_to_move_bytes(flags: dict[str, Any]) -> None:
    server, _ = run(flags, flags | {"num_flows": 3})
    assert server["local_throughput"] > 8 * MEGABYTE


def test_edges_and_a_delay() -> None:
    # Neper's own never stops with both.
    server, _ = run({"edge_trigger": True}, {"edge_trigger": True, "delay": 1_000_000})
    assert 0 < server["local_throughput"] <= 16384 * 8 * 1100


def test_pacing_holds_the_rate() -> None:
    server, _ = run({}, {"max_pacing_rate": 10 * MEGABYTE, "num_flows": 2})
    # Unpaced it is a hundred times as much.
    assert server["local_throughput"] < 2 * 2 * 8 * 10 * MEGABYTE


@pytest.mark.port_range(10000, 10019)
def test_ports_of_a_port_space() -> None:
    # The control connection has one of the twenty.
    server, client = run({}, {"ports": "fourtuple", "num_flows": 19})
    assert server["connections"] == 19
    assert client["kernel_choices"] == 0


def test_all_samples_have_a_row_for_each_flow(tmp_path: Path) -> None:
    file = tmp_path / "samples.csv"
    with serving(all_samples=str(file)):
        Side({"client": True, "test_length": 1, "ipv4": True, "num_flows": 3}).run()
    header, *rows = [line.split(",") for line in file.read_text().splitlines()]
    assert header[:5] == ["tid", "flow_id", "time", "bytes_read", "bytes_read/s"]
    assert header[-1] == "nivcsw"
    last = {row[1]: int(row[3]) for row in rows}
    assert sorted(last) == ["0", "1", "2"]
    assert min(last.values()) > 0


@contextmanager
def process(*arguments: str) -> Generator[subprocess.Popen[str], None, None]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def test_a_server_that_is_killed_is_noticed() -> None:
    with process("-4") as server:
        until(listening)
        client = Side({"client": True, "test_length": 600, "ipv4": True, "num_flows": 3}, server.kill)
        outcome = client.run()
    # The end of the control connection may come first.
    assert sum(client.failures.values()) <= client["dead_flows"] <= 3
    assert set(client.failures) <= {"reset", "closed"}
    assert outcome.trouble
    assert client["bytes_written"] > 0
    assert any("the run ended after" in notice for notice in client.notices)


def test_a_client_that_is_killed_leaves_the_server_with_what_it_has() -> None:
    victims: list[subprocess.Popen[str]] = []
    with (
        serving(each_interval=lambda: [victim.kill() for victim in victims]) as server,
        process("-4", "-c", "-l", "600", "-F", "2") as client,
    ):
        victims.append(client)
        client.wait(PATIENCE)
    assert server["local_throughput"] > 0
    assert (server["connections"], server["remote_throughput"]) == (2, 0)
    # The end of the control connection may come before that of the flows.
    assert set(server.failures) <= {"reset", "closed"}
    assert any("went without DONE" in notice for notice in server.notices)


def test_an_interrupt_prints_all_the_same() -> None:
    with process("-4", "--json=-") as server:
        until(listening)
        with process("-4", "-c", "-l", "600", "--json=-") as client:
            until(lambda: sockets(DATA_PORT, TcpState.ESTABLISHED) == 1)
            client.send_signal(signal.SIGINT)
            output, errors = client.communicate(timeout=PATIENCE)
        told, _ = server.communicate(timeout=PATIENCE)
    assert (client.returncode, "Traceback" in errors) == (130, False)
    assert json.loads(output)["bytes_written"] >= 0
    assert json.loads(told)["program"] == "tcp_stream"
    assert json.loads(told)["failures"]["reset"] == 0


def test_wrong_usage_names_the_flag() -> None:
    with process("-l", "0") as wrong:
        _, errors = wrong.communicate(timeout=PATIENCE)
    assert wrong.returncode == 2
    assert "--test-length must be 1 or more, not 0" in errors
