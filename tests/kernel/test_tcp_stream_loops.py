"""The loops of tcp_stream against the live kernel."""

from __future__ import annotations

import errno
import os
import resource
import select
import socket
import struct
import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, suppress

import pytest

from fourtuple.linux import libc
from fourtuple.load.engine.stream import READ, WRITE, EdgeStream, Stream
from fourtuple.load.engine.stream_client import StreamClient
from fourtuple.load.engine.stream_reader import Reader
from fourtuple.load.engine.stream_server import SplitStreamServer, StreamServer
from fourtuple.load.engine.stream_writer import Writer
from fourtuple.load.spaces import open_lanes
from kernel.servers import open_files, states_towards
from load.engine.streams import MEGABYTE, SIZE, plain, serving, split, streaming
from load.engine.workloads import HOSTS, PATIENCE, PORT, failures, finish, flows, running, until

pytestmark = pytest.mark.usefixtures("netns", "no_file_stays_open")

BOTH = READ | WRITE
SO_MAX_PACING_RATE = 47
HOUR = 3600 * 10**9

STREAMS = pytest.mark.parametrize("stream", [Stream, EdgeStream])


@pytest.fixture
def no_file_stays_open() -> Generator[None, None, None]:
    """Whatever a test did, its loops closed what they opened."""
    files = open_files()
    yield
    assert open_files() == files


@STREAMS
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
def test_what_the_client_writes_the_server_reads_and_counts(stream: type[Stream], family: int) -> None:
    ends = [stream(Reader(SIZE), Writer(SIZE)) for _ in range(2)]
    with streaming([WRITE] * 5, READ, client=ends[0], server=ends[1], family=family) as run:
        until(lambda: run.came > 20 * MEGABYTE)
        run.client.stop()
        # The connections stay: what was on its way arrives.
        until(lambda: run.came == run.sent)
        assert sum(run.server.done) == run.came
        assert all(1 <= stream.reader.reads <= stream.reader.received for stream in ends[1:])
        assert run.returned == run.server.stream.writer.sent == 0
        assert (failures(run.client), failures(run.server)) == ({}, {})
        assert (run.server.connections, run.server.open, run.server.most) == (5, 5, 5)
    assert run.client.connecting.count == 5


def test_connections_are_timed_before_the_loop_goes_on() -> None:
    with serving(lambda fds: StreamServer(fds, plain(), READ)):
        client = StreamClient(flows(3), plain(), [WRITE] * 3)
        gate, opening = libc.open_epoll(), os.eventfd(0)
        libc.watch(gate, opening, select.EPOLLIN, 0)
        thread = threading.Thread(target=client.run, args=(gate,))
        thread.start()
        until(lambda: client.started)
        assert client.connecting.count == 3
        client.stop()
        os.eventfd_write(opening, 1)
        thread.join(PATIENCE)
        client.close()
        os.close(opening)
        os.close(gate)


def test_every_flow_has_its_turn() -> None:
    with streaming([WRITE] * 100, READ) as run:
        until(lambda: sum(done > 0 for done in run.server.done) == 100)


@STREAMS
def test_maerts(stream: type[Stream]) -> None:
    ends = [stream(Reader(SIZE), Writer(SIZE)) for _ in range(2)]
    with streaming([READ] * 2, WRITE, client=ends[0], server=ends[1]) as run:
        until(lambda: min(run.client.done) > 10 * MEGABYTE)
        run.client.stop()
        assert run.sent == run.came == 0
    assert sum(run.client.done) == run.returned


@STREAMS
def test_both_ways_on_one_connection(stream: type[Stream]) -> None:
    ends = [stream(Reader(SIZE), Writer(SIZE)) for _ in range(2)]
    with streaming([BOTH] * 2, BOTH, client=ends[0], server=ends[1]) as run:
        until(lambda: min(run.came, run.returned) > 10 * MEGABYTE)


def test_both_ways_on_connections_of_their_own() -> None:
    with split([READ, WRITE] * 3) as run:
        until(lambda: min(run.came, run.returned) > 20 * MEGABYTE)
        assert [done > 0 for done in run.client.done] == [True, False] * 3
        assert sum(done > 0 for done in run.server.done) == 3
        assert (failures(run.client), failures(run.server)) == ({}, {})


def test_a_server_that_finds_that_a_flow_comes_its_way_writes_no_more_to_it() -> None:
    with (
        serving(lambda fds: SplitStreamServer(fds, plain())) as server,
        socket.create_connection((HOSTS[socket.AF_INET], PORT)) as sock,
    ):
        sock.sendall(b"1")
        until(lambda: server.stream.reader.received == 1)
        written = server.stream.writer.sent
        assert len(sock.recv(written, socket.MSG_WAITALL)) == written
        # There is room again, of which the server hears with the next byte at the latest.
        sock.sendall(b"2")
        until(lambda: server.stream.reader.received == 2)
        assert server.stream.writer.sent == written


@STREAMS
def test_a_flow_that_could_go_on_for_ever_keeps_nobody_waiting(stream: type[Stream]) -> None:
    # The peer discards faster than one byte at a time can be written: sending never has to wait.
    with streaming([WRITE, WRITE], READ, client=stream(Reader(1), Writer(1)), server=plain()) as run:
        until(lambda: sum(done > 1000 for done in run.server.done) == 2)


@STREAMS
def test_a_delay_keeps_no_loop_from_stopping(stream: type[Stream]) -> None:
    ends = stream(Reader(SIZE), Writer(SIZE), delay=HOUR)
    with streaming([WRITE] * 3, READ, client=ends) as run:
        until(lambda: run.came == SIZE)
    assert ends.writer.writes == 1


@STREAMS
def test_a_delay_comes_after_every_write(stream: type[Stream]) -> None:
    ends = stream(Reader(SIZE), Writer(SIZE), delay=1_000_000)
    begin = time.monotonic()
    with streaming([WRITE] * 2, READ, client=ends) as run:
        until(lambda: run.came > 50 * SIZE)
        writes = ends.writer.writes
        # The thread pauses, not the flow.
        assert writes <= (time.monotonic() - begin) * 1000 + 1


def test_what_is_dropped_counts_too() -> None:
    with streaming([WRITE], READ, server=Stream(Reader(SIZE, socket.MSG_TRUNC), Writer(1))) as run:
        until(lambda: run.came > 10 * MEGABYTE)
        run.client.stop()
        until(lambda: run.came == run.sent)


@pytest.mark.parametrize("back", [READ, WRITE])
def test_pacing_holds_the_rate(back: int) -> None:
    rate, flow_count = 10 * MEGABYTE, 2
    pacing = (socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", rate))
    begin = time.monotonic()
    with streaming([WRITE if back == READ else READ] * flow_count, back, options=[pacing]) as run:
        until(lambda: run.came + run.returned > 10 * MEGABYTE)
        # Unpaced it would be a hundred times as much; the first window goes at once.
        bound = 1.5 * flow_count * rate * (time.monotonic() - begin) + MEGABYTE
        assert run.came + run.returned < bound


def test_the_client_goes() -> None:
    with serving(lambda fds: StreamServer(fds, plain(), READ)) as server:
        client = StreamClient(flows(3), plain(), [WRITE] * 3)
        with running(client):
            until(lambda: server.stream.reader.received > MEGABYTE)
        until(lambda: server.open == 0)
        assert failures(server) == {errno.ECONNRESET: 3}
        assert server.connections == server.most == 3


def test_a_client_that_closes_in_order_is_counted_as_that() -> None:
    with serving(lambda fds: StreamServer(fds, plain(), READ)) as server:
        with socket.create_connection((HOSTS[socket.AF_INET], PORT)) as sock:
            sock.sendall(bytes(100_000))
        until(lambda: server.connections == 1 and server.open == 0)
        # All of it was read before the end was noticed.
        assert (server.stream.reader.received, failures(server)) == (100_000, {0: 1})


@STREAMS
def test_a_writer_notices_that_its_peer_closed(stream: type[Stream]) -> None:
    with serving(lambda fds: StreamServer(fds, stream(Reader(1), Writer(SIZE)), WRITE)) as server:
        with socket.create_connection((HOSTS[socket.AF_INET], PORT)) as sock:
            sock.shutdown(socket.SHUT_WR)
            until(lambda: server.connections == 1 and server.open == 0)
        assert failures(server) == {0: 1}


@STREAMS
@pytest.mark.parametrize("directions", [READ, WRITE, BOTH])
def test_the_server_goes(stream: type[Stream], directions: int) -> None:
    client = StreamClient(flows(4), stream(Reader(SIZE), Writer(SIZE)), [directions] * 4)
    with ExitStack() as server:
        there = server.enter_context(serving(lambda fds: StreamServer(fds, plain(), BOTH - directions or BOTH)))
        with running(client) as thread:
            until(lambda: there.stream.reader.received + client.stream.reader.received > MEGABYTE)
            server.close()
            thread.join(PATIENCE)
            assert not thread.is_alive(), "the client does not end"
    assert client.alive == 0
    assert sum(failures(client).values()) == 4
    assert set(failures(client)) <= {0, errno.ECONNRESET, errno.EPIPE}


@pytest.mark.parametrize("directions", [READ, WRITE, BOTH])
def test_nobody_listens(directions: int) -> None:
    client = StreamClient(flows(3), plain(), [directions] * 3)
    finish(client)
    assert (failures(client), client.alive, client.connecting.count) == ({errno.ECONNREFUSED: 3}, 0, 0)


def test_a_server_out_of_descriptors_goes_on_when_one_is_free() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        addresses = [(HOSTS[socket.AF_INET], port) for port in (PORT, PORT + 1)]
        listeners = [stack.enter_context(socket.create_server(address)) for address in addresses]
        socks = [stack.enter_context(socket.create_connection(address)) for address in addresses]
        server = StreamServer([listener.fileno() for listener in listeners], plain(), READ)
        # Descriptor after descriptor, until there is one left for two connections.
        highest = max(int(file.partition(":")[0]) for file in open_files())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        try:
            with suppress(OSError):
                while True:
                    stack.callback(os.close, os.open(os.devnull, os.O_RDONLY))
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2, hard))
            thread = stack.enter_context(running(server))
            until(lambda: failures(server) == {errno.EMFILE: 1})
            assert server.connections == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        # It does not look for a descriptor, but for the end of a connection.
        for sock in socks:
            sock.close()
        until(lambda: (server.connections, server.open) == (2, 0))
        assert thread.is_alive()


@pytest.mark.port_range(10000, 10009)
def test_ports_of_a_port_space() -> None:
    lane = open_lanes([HOSTS[socket.AF_INET]], [])
    with streaming([WRITE] * 10, READ, lanes=lane) as run:
        until(lambda: sum(done > 0 for done in run.server.done) == 10)
        assert lane.space.leased == 10
        assert set(states_towards(PORT)) == set(range(10000, 10010))
    assert run.client.kernel_choices == 0
    assert lane.space.leased == 0


def test_a_client_that_ended_leaves_its_connections_until_it_is_closed() -> None:
    with serving(lambda fds: StreamServer(fds, plain(), READ)) as server:
        client = StreamClient(flows(2), plain(), [WRITE] * 2)
        with running(client) as thread:
            until(lambda: server.stream.reader.received > MEGABYTE)
            client.stop()
            thread.join(PATIENCE)
            assert (server.open, failures(server)) == (2, {})
        until(lambda: server.open == 0)
