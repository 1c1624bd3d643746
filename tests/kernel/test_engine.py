"""The loops of tcp_crr and tcp_rr against the live kernel."""

from __future__ import annotations

import errno
import os
import resource
import select
import socket
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from fourtuple.linux import sockopt
from fourtuple.linux.addresses import packed
from fourtuple.linux.sysctl import write
from fourtuple.linux.tcp_info import TcpState
from fourtuple.load.engine.arrivals import Arrivals
from fourtuple.load.engine.client import Flows
from fourtuple.load.engine.crr import CrrClient
from fourtuple.load.engine.echo import EchoServer
from fourtuple.load.engine.rr import RrClient
from fourtuple.load.spaces import open_lanes
from kernel.servers import open_files, states_towards
from load.engine.workloads import HOSTS, PATIENCE, PORT, echo, failures, finish, flows, running, until

pytestmark = pytest.mark.usefixtures("netns", "no_file_stays_open")

CLIENTS = pytest.mark.parametrize("client", [CrrClient, RrClient])
FAMILIES = pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])


@pytest.fixture
def no_file_stays_open() -> Generator[None, None, None]:
    """Whatever a test did, its loops closed what they opened."""
    files = open_files()
    yield
    assert open_files() == files


@CLIENTS
@FAMILIES
@pytest.mark.parametrize(("request_size", "response_size"), [(1, 1), (100_000, 3), (7, 3_000_000)])
def test_every_transaction_is_complete_on_both_sides(
    client: type[CrrClient | RrClient], family: int, request_size: int, response_size: int
) -> None:
    with echo(family=family, request=request_size, response=response_size) as server:
        load = client(flows(5, family=family), request=request_size, response=response_size, limit=50)
        finish(load)
        assert load.transactions == load.latency.count == load.requesting.count == sum(load.done) == 50
        assert failures(load) == {}
        until(lambda: server.open == 0)
    # The other flows were under way when the last one ended.
    assert 50 <= server.transactions <= 55


def test_a_connection_for_each_transaction_or_one_for_all() -> None:
    with echo() as server:
        finish(CrrClient(flows(1), request=1, response=1, limit=20))
        until(lambda: server.open == 0)
        assert server.connections == 20
        finish(RrClient(flows(1), request=1, response=1, limit=20))
        until(lambda: server.open == 0)
    assert server.connections == 21


def test_the_wait_at_the_gate_is_no_part_of_connecting() -> None:
    load = RrClient(flows(5), request=1, response=1)
    opening = os.eventfd(0)
    with echo() as server, select.epoll() as gate:
        gate.register(opening, select.EPOLLIN)
        thread = threading.Thread(target=load.run, args=[gate.fileno()])
        thread.start()
        until(lambda: load.started and server.open == 5)
        assert (load.connecting.count, load.transactions) == (5, 0)
        os.eventfd_write(opening, 1)
        until(lambda: load.transactions > 0)
        load.stop()
        thread.join(PATIENCE)
        load.close()
    os.close(opening)
    assert load.connecting.count == 5


def test_the_parts_of_a_transaction_make_the_whole() -> None:
    with echo():
        load = CrrClient(flows(1), request=1, response=1, limit=200)
        finish(load)
    assert load.connecting.count == load.requesting.count == load.closing.count == 200
    parts = load.connecting.total + load.requesting.total
    assert 0 < parts <= load.latency.total
    assert load.closing.total > 0


@CLIENTS
def test_flows_share_the_destinations(client: type[CrrClient | RrClient]) -> None:
    # Reconnects too: a flow keeps its own.
    ports = [PORT, PORT + 1, PORT + 2]
    with ExitStack() as stack:
        servers = [stack.enter_context(echo(ports=[port])) for port in ports]
        load = client(flows(3, ports=ports), request=1, response=1)
        with running(load):
            until(lambda: min(load.done) > 5)
        until(lambda: not any(server.open for server in servers))
        for server, done in zip(servers, load.done, strict=True):
            # The last one may have been answered in vain.
            assert server.transactions - done in (0, 1)


def test_one_server_listens_on_many_ports() -> None:
    ports = [PORT, PORT + 1]
    with echo(ports=ports) as server:
        finish(CrrClient(flows(2, ports=ports), request=1, response=1, limit=10))
        until(lambda: server.open == 0)
    assert server.transactions >= 10


def test_sources_are_bound() -> None:
    listener = socket.create_server((HOSTS[socket.AF_INET], PORT))
    with listener:
        listener.setblocking(True)
        with running(RrClient(flows(4, sources=["127.0.0.2", "127.0.0.3"]), request=1, response=1)):
            peers = [listener.accept() for _ in range(4)]
            assert Counter(address[0] for _, address in peers) == {"127.0.0.2": 2, "127.0.0.3": 2}
            for peer, _ in peers:
                peer.close()


@contextmanager
def accepting_nothing() -> Generator[None, None, None]:
    with socket.create_server((HOSTS[socket.AF_INET], PORT), backlog=1024):
        yield


def test_options_are_set_before_the_connection() -> None:
    # A segment size shows at the other end only if it was set in time.
    options = [(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536), (socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")]
    with (
        socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener,
        running(RrClient(flows(1, options=options), request=1, response=1)),
        listener.accept()[0] as peer,
    ):
        assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) <= 536


def test_an_option_that_the_kernel_refuses_is_counted() -> None:
    load = RrClient(
        flows(3, options=[(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"none such")]), request=1, response=1
    )
    with accepting_nothing():
        finish(load)
    assert (failures(load), load.alive) == ({errno.ENOENT: 3}, 0)


@CLIENTS
def test_nobody_listens(client: type[CrrClient | RrClient]) -> None:
    load = client(flows(4), request=1, response=1)
    finish(load)
    assert (failures(load), load.alive, load.transactions) == ({errno.ECONNREFUSED: 4}, 0, 0)


def test_there_is_no_route() -> None:
    write("net.ipv6.conf.all.disable_ipv6", 1)
    load = CrrClient(flows(2, family=socket.AF_INET6), request=1, response=1)
    finish(load)
    assert (sum(failures(load).values()), load.alive) == (2, 0)


@CLIENTS
def test_the_server_goes(client: type[CrrClient | RrClient]) -> None:
    load = client(flows(8), request=1, response=1)
    with ExitStack() as server:
        server.enter_context(echo())
        with running(load) as thread:
            until(lambda: load.transactions > 100)
            server.close()
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the client does not end"
    assert load.alive == 0
    assert sum(failures(load).values()) >= 8


def test_a_peer_that_closes_without_an_answer_is_counted_as_that() -> None:
    with socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener:
        load = CrrClient(flows(1), request=1, response=1)
        with running(load):
            for _ in range(3):
                peer, _ = listener.accept()
                peer.recv(1)
                peer.close()
            until(lambda: failures(load).get(0) == 3)
    assert load.transactions == 0


def test_a_peer_that_resets_is_counted_as_that() -> None:
    with socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener:
        load = CrrClient(flows(1), request=1, response=1)
        with running(load):
            for _ in range(3):
                peer, _ = listener.accept()
                sockopt.reset_on_close(peer)
                peer.close()
            until(lambda: failures(load).get(errno.ECONNRESET, 0) + failures(load).get(errno.EPIPE, 0) >= 3)


@CLIENTS
def test_an_open_loop_counts_from_the_intended_start(client: type[CrrClient | RrClient]) -> None:
    with echo():
        load = client(flows(2), request=1, response=1, limit=100, arrivals=Arrivals(2000))
        finish(load)
    assert load.transactions == 100
    assert load.arrivals.passed >= 100
    assert load.latency.count == 100


def test_arrivals_that_find_no_idle_flow_are_overdue() -> None:
    with accepting_nothing():
        load = CrrClient(flows(3), request=1, response=1, arrivals=Arrivals(10_000))
        with running(load):
            until(lambda: load.arrivals.passed == 3)
    assert load.overdue > 0
    assert load.transactions == 0


def test_a_delay_spaces_the_transactions_of_a_flow() -> None:
    with echo():
        load = RrClient(flows(2), request=1, response=1, delay=1_000_000, limit=40)
        finish(load)
    # 20 of each flow, a millisecond apart, counted by the clock of the connections' own records.
    assert load.transactions == 40
    assert load.latency.count == 40


def test_the_log_keeps_the_first_transactions_of_each_flow() -> None:
    with echo():
        load = CrrClient(flows(2), request=1, response=1, limit=100, log=5)
        finish(load)
    assert list(load.logged) == [min(5, done) for done in load.done]
    for flow in range(2):
        moments = list(load.log_moments[5 * flow : 5 * flow + load.logged[flow]])
        assert moments == sorted(moments)
        assert all(latency > 0 for latency in load.log_latencies[5 * flow : 5 * flow + load.logged[flow]])


@pytest.mark.port_range(10000, 10099)
class TestPorts:
    def test_all_ports_are_used_and_come_back(self) -> None:
        lane = open_lanes([HOSTS[socket.AF_INET]], [])
        with echo():
            load = CrrClient(flows(100, lanes=lane), request=1, response=1, limit=1000)
            finish(load)
        assert (load.kernel_choices, failures(load)) == (0, {})
        assert lane.space.census() == (100, 0, 0, 0, 0)

    def test_a_flow_too_many_finds_no_port(self) -> None:
        lane = open_lanes([HOSTS[socket.AF_INET]], [])
        with accepting_nothing():
            load = CrrClient(flows(103, lanes=lane), request=1, response=1)
            with running(load):
                until(lambda: load.started)
                assert failures(load) == {errno.EADDRNOTAVAIL: 3}
                assert load.alive == 100
                assert lane.space.leased == 100
        assert lane.space.census() == (100, 0, 0, 0, 0)

    @CLIENTS
    def test_a_port_of_a_connection_that_was_refused_comes_back(self, client: type[CrrClient | RrClient]) -> None:
        lane = open_lanes([HOSTS[socket.AF_INET]], [])
        load = client(flows(5, lanes=lane), request=1, response=1)
        finish(load)
        assert (failures(load), load.kernel_choices) == ({errno.ECONNREFUSED: 5}, 0)
        assert lane.space.census() == (100, 0, 0, 0, 0)

    def test_a_port_without_a_route_comes_back(self) -> None:
        lane = open_lanes(["203.0.113.1"], [])
        load = CrrClient(
            Flows(
                family=socket.AF_INET,
                destinations=[packed(socket.AF_INET, ("203.0.113.1", PORT))],
                sources=[],
                destination_of=[0],
                source_of=[-1],
                options=[],
                reset=True,
                lanes=lane,
            ),
            request=1,
            response=1,
        )
        finish(load)
        assert failures(load) == {errno.ENETUNREACH: 1}
        assert lane.space.census() == (100, 0, 0, 0, 0)

    def test_ports_of_others_are_learnt(self) -> None:
        lane = open_lanes([HOSTS[socket.AF_INET]], [])
        with accepting_nothing(), ExitStack() as stack:
            for _ in range(60):
                sock = stack.enter_context(socket.create_connection((HOSTS[socket.AF_INET], PORT)))
                sockopt.reset_on_close(sock)
            load = RrClient(flows(40, lanes=lane), request=1, response=1)
            with running(load):
                until(lambda: load.started)
                assert (load.alive, failures(load)) == (40, {})
                assert 0 < load.refused_ports <= 60

    def test_sources_and_destinations_have_ports_of_their_own(self) -> None:
        sources, ports = ["127.0.0.2", "127.0.0.3"], [PORT, PORT + 1]
        lane = open_lanes([HOSTS[socket.AF_INET]] * 2, sources)
        listeners = [socket.create_server((HOSTS[socket.AF_INET], port), backlog=1024) for port in ports]
        with ExitStack() as stack:
            for listener in listeners:
                stack.enter_context(listener)
            # Flow f takes destination f % 2 and source f % 2: two of the four lanes, in full.
            load = CrrClient(flows(200, ports=ports, sources=sources, lanes=lane), request=1, response=1)
            with running(load):
                until(lambda: load.started)
                assert (load.alive, failures(load)) == (200, {})
                assert lane.space.leased == 100
                assert lane.after.space.leased == 0
                assert lane.after.after.after.space.leased == 100

    def test_time_wait_cools(self) -> None:
        lane = open_lanes([HOSTS[socket.AF_INET]], [])
        with echo():
            finish(CrrClient(flows(2, reset=False, lanes=lane), request=1, response=1, limit=30))
        census = lane.space.census()
        assert census.cooling >= 30 - 2
        assert census.leased == census.foreign == 0
        assert Counter(states_towards(PORT).values())[TcpState.TIME_WAIT] >= 28

    def test_a_range_that_changed_is_noticed(self) -> None:
        lane = open_lanes([HOSTS[socket.AF_INET]], [])
        write("net.ipv4.ip_local_port_range", "20000 20999")
        with echo():
            load = CrrClient(flows(1, lanes=lane), request=1, response=1, limit=10)
            finish(load)
        assert (load.kernel_choices, failures(load)) == (10, {})
        assert lane.space.excluded == 10


def test_a_server_out_of_descriptors_waits_for_one_and_goes_on() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server((HOSTS[socket.AF_INET], PORT), backlog=1024))
        listener.setblocking(False)
        server = EchoServer([listener.fileno()], request=1, response=1)
        socks = [stack.enter_context(socket.create_connection((HOSTS[socket.AF_INET], PORT))) for _ in range(20)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (socks[-1].fileno() + 5, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with running(server):
            until(lambda: failures(server).get(errno.EMFILE, 0) > 0)
            assert server.connections < 20
            for sock in socks:
                sock.close()
            until(lambda: server.connections == 20 and server.open == 0)


def test_a_loop_that_is_stopped_before_it_runs_connects_nowhere() -> None:
    load = CrrClient(flows(5), request=1, response=1)
    load.stop()
    finish(load)
    assert (load.transactions, failures(load)) == (0, {})
