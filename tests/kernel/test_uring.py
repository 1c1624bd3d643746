"""The loops of tcp_crr and tcp_rr over io_uring, against the live kernel."""

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
from pathlib import Path

import pytest

from fourtuple.errors import Unsupported
from fourtuple.linux import sockopt
from fourtuple.linux.sysctl import write
from fourtuple.linux.tcp_info import TcpState
from fourtuple.linux.uring import table_size
from fourtuple.load.engine.arrivals import Arrivals
from fourtuple.load.engine.crr import CrrClient
from fourtuple.load.engine.echo import EchoServer
from fourtuple.load.engine.ring import Ring
from fourtuple.load.engine.rr import RrClient
from fourtuple.load.engine.uring_crr import UringCrrClient
from fourtuple.load.engine.uring_echo import UringEchoServer
from fourtuple.load.engine.uring_rr import UringRrClient
from fourtuple.load.spaces import open_lanes
from kernel.servers import open_files, states_towards
from load.engine.workloads import HOSTS, PATIENCE, PORT, failures, finish, flows, running, until

pytestmark = pytest.mark.usefixtures("io_uring", "netns", "no_file_stays_open")

CLIENTS = pytest.mark.parametrize("client", [UringCrrClient, UringRrClient])
# The two engines are one workload, so each works with the other's other end.
PAIRS = pytest.mark.parametrize(
    ("client", "server"),
    [
        (UringCrrClient, UringEchoServer),
        (UringRrClient, UringEchoServer),
        (UringCrrClient, EchoServer),
        (UringRrClient, EchoServer),
        (CrrClient, UringEchoServer),
        (RrClient, UringEchoServer),
    ],
)
FAMILIES = pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])


@pytest.fixture
def io_uring() -> None:
    try:
        Ring(1).close()
    except Unsupported as error:
        pytest.skip(str(error))


@pytest.fixture
def no_file_stays_open() -> Generator[None, None, None]:
    """Whatever a test did, its loops closed what they opened."""
    files = open_files()
    yield
    assert open_files() == files


@contextmanager
def listening(count: int = 1) -> Generator[list[int], None, None]:
    with ExitStack() as stack:
        listeners = [
            stack.enter_context(socket.create_server((HOSTS[socket.AF_INET], PORT + place), backlog=1024))
            for place in range(count)
        ]
        yield [listener.fileno() for listener in listeners]


@contextmanager
def served(
    server: type[EchoServer | UringEchoServer] = UringEchoServer, *, request: int = 1, response: int = 1, ports: int = 1
) -> Generator[EchoServer | UringEchoServer, None, None]:
    with listening(ports) as listeners:
        for listener in listeners:
            os.set_blocking(listener, False)
        loop = server(listeners, request=request, response=response)
        with running(loop):
            yield loop


@PAIRS
@pytest.mark.parametrize(("request_size", "response_size"), [(1, 1), (100_000, 3), (7, 3_000_000)])
def test_every_transaction_is_complete_on_both_sides(
    client: type[CrrClient | RrClient],
    server: type[EchoServer | UringEchoServer],
    request_size: int,
    response_size: int,
) -> None:
    with served(server, request=request_size, response=response_size) as other:
        load = client(flows(5), request=request_size, response=response_size, limit=50)
        finish(load)
        assert load.transactions == load.latency.count == sum(load.done) == 50
        assert failures(load) == {}
        until(lambda: other.open == 0)
    # The other flows were under way when the last one ended, and cut short.
    assert 50 <= other.transactions <= 55
    assert set(failures(other)) <= {0, errno.ECONNRESET}


@CLIENTS
def test_ipv6(client: type[UringCrrClient | UringRrClient]) -> None:
    with socket.create_server((HOSTS[socket.AF_INET6], PORT), family=socket.AF_INET6, backlog=1024) as listener:
        server = UringEchoServer([listener.fileno()], request=1, response=1)
        with running(server):
            load = client(flows(3, family=socket.AF_INET6), request=1, response=1, limit=30)
            finish(load)
    assert (load.transactions, failures(load)) == (30, {})


def test_a_connection_for_each_transaction_or_one_for_all() -> None:
    with served() as server:
        finish(UringCrrClient(flows(1), request=1, response=1, limit=20))
        until(lambda: server.open == 0)
        assert server.connections == 20
        finish(UringRrClient(flows(1), request=1, response=1, limit=20))
        until(lambda: server.open == 0)
    assert server.connections == 21


def test_the_parts_of_a_transaction_that_can_be_told_apart() -> None:
    with served():
        whole = UringCrrClient(flows(1), request=1, response=1, limit=20)
        finish(whole)
        parts = UringRrClient(flows(1), request=1, response=1, limit=20)
        finish(parts)
    assert whole.latency.total > 0
    assert whole.connecting.count == whole.requesting.count == whole.closing.count == 0
    assert (parts.connecting.count, parts.requesting.count) == (1, 20)
    assert 0 < parts.requesting.total <= parts.latency.total


def test_a_connection_is_reset_at_the_end_or_waits() -> None:
    with served() as server:
        finish(UringCrrClient(flows(1), request=1, response=1, limit=20))
        until(lambda: server.open == 0)
        assert states_towards(PORT) == {}
        finish(UringCrrClient(flows(1, reset=False), request=1, response=1, limit=20))
        until(lambda: server.open == 0)
        assert Counter(states_towards(PORT).values()) == {TcpState.TIME_WAIT: 20}
    # Neither is a failure.
    assert failures(server) == {}


@CLIENTS
def test_more_requests_than_the_queue_has_places(client: type[UringCrrClient | UringRrClient]) -> None:
    with served() as server:
        load = client(flows(600), request=1, response=1, limit=5000)
        finish(load)
        assert (load.transactions, failures(load)) == (5000, {})
        until(lambda: server.open == 0)
    assert server.most > 256


def test_one_server_listens_on_many_ports() -> None:
    with served(ports=2) as server:
        load = UringCrrClient(flows(2, ports=[PORT, PORT + 1]), request=1, response=1, limit=10)
        finish(load)
        assert min(load.done) > 0
        until(lambda: server.open == 0)
    assert server.transactions >= 10


def test_sources_are_bound() -> None:
    with socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener:
        listener.setblocking(True)
        with running(UringRrClient(flows(4, sources=["127.0.0.2", "127.0.0.3"]), request=1, response=1)):
            peers = [listener.accept() for _ in range(4)]
            assert Counter(address[0] for _, address in peers) == {"127.0.0.2": 2, "127.0.0.3": 2}
            for peer, _ in peers:
                peer.close()


def test_options_are_set_before_the_connection() -> None:
    # A segment size shows at the other end only if it was set in time.
    options = [(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno"), (socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)]
    with (
        socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener,
        running(UringRrClient(flows(1, options=options), request=1, response=1)),
        listener.accept()[0] as peer,
    ):
        assert peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) <= 536


@CLIENTS
def test_an_option_that_the_kernel_refuses_is_counted(client: type[UringCrrClient | UringRrClient]) -> None:
    options = [(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"none such")]
    with served():
        load = client(flows(3, options=options), request=1, response=1)
        finish(load)
    assert (failures(load), load.alive, load.transactions) == ({errno.ENOENT: 3}, 0, 0)


@CLIENTS
def test_nobody_listens(client: type[UringCrrClient | UringRrClient]) -> None:
    load = client(flows(4), request=1, response=1)
    finish(load)
    assert (failures(load), load.alive, load.transactions) == ({errno.ECONNREFUSED: 4}, 0, 0)


@CLIENTS
def test_there_is_no_route(client: type[UringCrrClient | UringRrClient]) -> None:
    write("net.ipv6.conf.all.disable_ipv6", 1)
    load = client(flows(2, family=socket.AF_INET6), request=1, response=1)
    finish(load)
    assert (sum(failures(load).values()), load.alive) == (2, 0)


@CLIENTS
@pytest.mark.port_range(10000, 10005)
def test_no_port_is_left(client: type[UringCrrClient | UringRrClient]) -> None:
    with listening():
        load = client(flows(8), request=1, response=1)
        with running(load):
            until(lambda: failures(load) == {errno.EADDRNOTAVAIL: 2})
            assert load.alive == 6


@CLIENTS
def test_the_server_goes(client: type[UringCrrClient | UringRrClient]) -> None:
    load = client(flows(8), request=1, response=1)
    with ExitStack() as server:
        server.enter_context(served())
        with running(load) as thread:
            until(lambda: load.transactions > 100)
            server.close()
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the client does not end"
    assert load.alive == 0
    assert sum(failures(load).values()) >= 8


def test_a_peer_that_closes_without_an_answer_is_counted_as_that() -> None:
    with socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener:
        load = UringCrrClient(flows(1), request=1, response=1)
        with running(load):
            for _ in range(20):
                peer, _ = listener.accept()
                peer.recv(1)
                peer.close()
            until(lambda: failures(load).get(0) == 20)
    assert (load.transactions, load.alive) == (0, 1)


def test_a_peer_that_resets_is_counted_as_that_and_once() -> None:
    with socket.create_server((HOSTS[socket.AF_INET], PORT)) as listener:
        load = UringCrrClient(flows(1), request=1, response=1)
        with running(load):
            for _ in range(20):
                peer, _ = listener.accept()
                sockopt.reset_on_close(peer)
                peer.close()
            until(lambda: sum(failures(load).values()) == 20)
    assert set(failures(load)) <= {errno.ECONNRESET, errno.EPIPE}
    assert (load.transactions, load.alive) == (0, 1)


def test_a_part_of_a_request_is_a_failure_of_the_server() -> None:
    with served(request=3) as server:
        with socket.create_connection((HOSTS[socket.AF_INET], PORT)) as sock:
            sock.send(b"ab")
            until(lambda: server.open == 1)
        until(lambda: server.open == 0)
    assert (failures(server), server.transactions) == ({0: 1}, 0)


@CLIENTS
def test_an_open_loop_counts_from_the_intended_start(client: type[UringCrrClient | UringRrClient]) -> None:
    with served() as server:
        load = client(flows(2), request=1, response=1, limit=100, arrivals=Arrivals(2000))
        finish(load)
        until(lambda: server.open == 0)
    assert load.transactions == load.latency.count == 100
    assert load.arrivals.passed >= 100


def test_an_idle_flow_holds_no_connection() -> None:
    with served() as server:
        load = UringCrrClient(flows(2), request=1, response=1, arrivals=Arrivals(1000))
        with running(load):
            until(lambda: load.transactions >= 20)
            until(lambda: server.open == 0)


def test_a_delay_spaces_the_transactions_of_a_flow() -> None:
    with served():
        load = UringRrClient(flows(2), request=1, response=1, delay=1_000_000, limit=40)
        finish(load)
    assert load.transactions == load.latency.count == 40


def test_the_log_keeps_the_first_transactions_of_each_flow() -> None:
    with served():
        load = UringCrrClient(flows(2), request=1, response=1, limit=100, log=5)
        finish(load)
    assert list(load.logged) == [min(5, done) for done in load.done]


@CLIENTS
def test_connections_stay_until_their_client_is_closed(client: type[UringCrrClient | UringRrClient]) -> None:
    load = client(flows(5), request=1, response=1)
    held = [TcpState.ESTABLISHED] * 5
    with listening(), running(load) as thread:
        until(lambda: list(states_towards(PORT).values()) == held)
        load.stop()
        thread.join(PATIENCE)
        assert list(states_towards(PORT).values()) == held
        load.close()
        until(lambda: states_towards(PORT) == {})


@CLIENTS
def test_all_connect_before_the_gate_opens(client: type[UringCrrClient | UringRrClient]) -> None:
    load = client(flows(5), request=1, response=1)
    opening = os.eventfd(0)
    with served() as server, select.epoll() as gate:
        gate.register(opening, select.EPOLLIN)
        thread = threading.Thread(target=load.run, args=[gate.fileno()])
        thread.start()
        until(lambda: load.started and server.open == 5)
        assert load.transactions == 0
        os.eventfd_write(opening, 1)
        until(lambda: load.transactions > 0)
        load.stop()
        thread.join(PATIENCE)
        load.close()
    os.close(opening)


def test_one_request_accepts_all_connections() -> None:
    with served() as server:
        finish(UringCrrClient(flows(5), request=1, response=1, limit=50))
        until(lambda: server.open == 0)
        (ring,) = [name.partition(":")[0] for name in open_files() if name.endswith("anon_inode:[io_uring]")]
        waiting = Path(f"/proc/self/fdinfo/{ring}").read_text().partition("PollList:")[2]
        assert waiting.count("op=13,") == 1


def test_a_loop_that_is_stopped_before_it_runs_connects_nowhere() -> None:
    load = UringCrrClient(flows(5), request=1, response=1)
    load.stop()
    finish(load)
    assert (load.transactions, failures(load)) == (0, {})


@CLIENTS
def test_lanes_are_refused_by_name(client: type[UringCrrClient | UringRrClient]) -> None:
    with pytest.raises(ValueError, match="lanes: over io_uring the kernel chooses the ports"):
        client(flows(1, lanes=open_lanes([HOSTS[socket.AF_INET]], [])), request=1, response=1)


@CLIENTS
def test_more_flows_than_files_are_refused_with_the_limit(client: type[UringCrrClient | UringRrClient]) -> None:
    with pytest.raises(ValueError, match=f"1 to {table_size()} sockets, not {table_size() + 1}.*ulimit -n"):
        client(flows(table_size() + 1), request=1, response=1)


def test_a_server_with_a_full_table_counts_it_and_goes_on() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        (listener,) = stack.enter_context(listening())
        resource.setrlimit(resource.RLIMIT_NOFILE, (listener + 10, hard))
        server = UringEchoServer([listener], request=1, response=1)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with running(server):
            size = listener + 10
            socks = [
                stack.enter_context(socket.create_connection((HOSTS[socket.AF_INET], PORT))) for _ in range(size + 1)
            ]
            until(lambda: failures(server) == {errno.ENFILE: 1})
            assert server.open == size
            for sock in socks:
                sock.close()
            until(lambda: server.open == 0)
            finish(UringCrrClient(flows(1), request=1, response=1, limit=10))
            until(lambda: server.transactions == 10)


def test_only_the_thread_that_runs_a_loop_may_use_its_ring() -> None:
    ring = Ring(1)
    try:
        ring.enable()
        with pytest.raises(Unsupported, match="io_uring"):
            ring.enable()
    finally:
        ring.close()
