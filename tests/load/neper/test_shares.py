"""What each thread of a client gets."""

from __future__ import annotations

import socket
from collections.abc import Generator

import pytest

from fourtuple.linux.addresses import packed
from fourtuple.load.engine.client import Client, Flows
from fourtuple.load.engine.crr import CrrClient
from fourtuple.load.neper.options import Crr, Rr
from fourtuple.load.neper.shares import client_shares, fixed_ports
from fourtuple.load.neper.transactions import TcpCrr, TcpRr, TransactionClient

HERE = ("::1", 12866, 0, 0)


def test_threads_share_flows_destinations_and_sources() -> None:
    program = TcpCrr(
        Crr(client=True, num_flows=5, num_threads=2, num_ports=2, test_length=-3, rate=10.0, time_wait=True)
    )
    sources = [("::1", 0, 0, 0), ("::2", 0, 0, 0), ("::3", 0, 0, 0)]
    first, second = client_shares(program, socket.AF_INET6, HERE, sources)
    flows = first.flows
    assert flows.destinations == [packed(socket.AF_INET6, ("::1", port, 0, 0)) for port in (12867, 12868)]
    assert flows.sources == [packed(socket.AF_INET6, source) for source in sources]
    assert (flows.destination_of, flows.source_of) == ([0, 1, 0], [0, 1, 2])
    assert (second.flows.destination_of, second.flows.source_of) == ([1, 0], [0, 1])
    assert (flows.reset, flows.lanes, flows.options) == (False, None, [])
    assert [(share.thread, share.limit, share.rate, share.phase) for share in (first, second)] == [
        (0, 2, 5.0, 0.0),
        (1, 1, 5.0, 0.5),
    ]


def test_socket_options_go_along() -> None:
    program = TcpRr(Rr(client=True, no_delay=True, tcp_fastopen=True, reuseaddr=True, max_pacing_rate=5, mark=7))
    (share,) = client_shares(program, socket.AF_INET6, HERE, [])
    assert list(share.flows.options) == [
        (socket.SOL_SOCKET, 36, 7),
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, 47, (5).to_bytes(8, "little")),
        (socket.IPPROTO_TCP, 30, 1),
        (socket.SOL_SOCKET, socket.SO_REUSEADDR, 1),
    ]
    assert share.flows.reset


def test_ports_of_flows_follow_one_another() -> None:
    assert fixed_ports(socket.AF_INET6, 5000, 2) == [("::", 5000, 0, 0), ("::", 5001, 0, 0)]
    assert fixed_ports(socket.AF_INET, 5000, 1) == [("0.0.0.0", 5000)]


@pytest.fixture
def client() -> Generator[Client, None, None]:
    flows = Flows(socket.AF_INET6, [packed(socket.AF_INET6, HERE)], [], [0, 0], [-1, -1], [], True, None)
    client = CrrClient(flows, request=2, response=3)
    yield client
    client.close()


def test_a_worker_names_what_its_loop_counts(client: Client) -> None:
    worker = TransactionClient(client, Crr(request_size=2, response_size=3))
    client.connecting.record(1)
    client.requesting.record(2)
    client.closing.record(3)
    client.latency.record(4)
    histograms = worker.counters().histograms
    assert {name: histogram.least for name, histogram in histograms.items()} == {
        "latency": 4,
        "connect": 1,
        "request": 2,
        "close": 3,
    }
    assert dict(worker.levels()) == {"dead_flows": 0, "unconnected_flows": 0, "overdue": 0}
    assert list(worker.things_of_flow) == [0, 0]
