"""Streams that send and receive without copying, against the live kernel."""

from __future__ import annotations

import mmap
import socket
import subprocess
from collections.abc import Generator

import pytest

from fourtuple.linux.netns import NetworkNamespace
from fourtuple.linux.streaming import MSG_ZEROCOPY, SO_ZEROCOPY
from fourtuple.load.engine.stream import READ, WRITE, EdgeStream, Stream
from fourtuple.load.engine.stream_reader import MappedReader, Reader
from fourtuple.load.engine.stream_server import StreamServer
from fourtuple.load.engine.stream_writer import Writer, ZeroCopyWriter
from kernel.servers import open_files
from load.engine.streams import MEGABYTE, SIZE, streaming
from load.engine.workloads import HOSTS, PORT, failures, running, until
from support.needs import Need, requires

pytestmark = pytest.mark.usefixtures("netns", "no_mapping_stays")

LARGE = 16 * mmap.PAGESIZE
ZERO_COPY = (socket.SOL_SOCKET, SO_ZEROCOPY, 1)
FAMILIES = pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6], ids=["IPv4", "IPv6"])
STREAMS = pytest.mark.parametrize("stream", [Stream, EdgeStream])


def _option_memory_lack() -> str | None:
    command = ["unshare", "--user", "--map-root-user", "--net", "test", "-e", "/proc/sys/net/core/optmem_max"]
    return None if subprocess.run(command, check=False).returncode == 0 else "the setting is the machine's alone"


OWN_OPTION_MEMORY = Need("net.core.optmem_max in network namespaces", _option_memory_lack)


@pytest.fixture
def no_mapping_stays() -> Generator[None, None, None]:
    """Whatever a test did, no socket stays mapped or open."""
    files = open_files()
    yield
    assert open_files() == files
    with open("/proc/self/maps", encoding="ascii") as maps:
        assert "TCP" not in maps.read()


@STREAMS
@FAMILIES
def test_sends_without_a_copy_are_reported(stream: type[Stream], family: int) -> None:
    writer = ZeroCopyWriter(SIZE)
    client = stream(Reader(1), writer)
    with streaming([WRITE] * 3, READ, client=client, family=family, options=[ZERO_COPY]) as run:
        until(lambda: sum(writer.reports) > 500)
        run.client.stop()
        until(lambda: run.came == run.sent)
        assert (failures(run.client), failures(run.server)) == ({}, {})
    assert sum(writer.reports) + writer.copied_at_once <= writer.writes
    # Over loopback the kernel copies all the same.
    assert (writer.reports[0], writer.copied_at_once) == (0, 0)


@requires(OWN_OPTION_MEMORY)
def test_where_the_kernel_can_keep_no_account_of_sends_it_copies(netns: NetworkNamespace) -> None:
    netns.set_sysctl("net.core.optmem_max", 1)
    writer = ZeroCopyWriter(SIZE)
    with streaming([WRITE], READ, client=Stream(Reader(1), writer), options=[ZERO_COPY]) as run:
        until(lambda: run.came > MEGABYTE)
        assert failures(run.client) == {}
    assert writer.copied_at_once == writer.writes
    assert sum(writer.reports) == 0


@STREAMS
@FAMILIES
def test_pages_that_arrive_are_mapped(stream: type[Stream], family: int) -> None:
    reader = MappedReader(LARGE)
    # Sent without a copy they arrive in pages of their own, after the copy that loopback makes.
    client = Stream(Reader(1), ZeroCopyWriter(LARGE))
    server = stream(reader, Writer(1))
    with streaming([WRITE] * 3, READ, client=client, server=server, family=family, options=[ZERO_COPY]) as run:
        until(lambda: reader.mapped > 10 * MEGABYTE)
        run.client.stop()
        until(lambda: run.came == run.sent)
        assert (failures(run.client), failures(run.server)) == ({}, {})
        assert sum(run.server.done) == run.came
    assert reader.mapped % mmap.PAGESIZE == 0


def test_no_more_is_copied_than_stands_before_the_next_page() -> None:
    address = (HOSTS[socket.AF_INET], PORT)
    reader = MappedReader(LARGE)
    with (
        socket.create_server(address) as listener,
        socket.create_connection(address) as sock,
        mmap.mmap(-1, LARGE) as pages,
    ):
        sock.setsockopt(*ZERO_COPY)
        sock.sendall(bytes(100))
        sock.sendall(pages, MSG_ZEROCOPY)
        server = StreamServer([listener.fileno()], Stream(reader, Writer(1)), READ)
        with running(server):
            until(lambda: reader.received == 100 + LARGE)
    assert reader.mapped > LARGE / 2


def test_what_fills_no_page_is_copied() -> None:
    reader = MappedReader(LARGE)
    with streaming([WRITE], READ, client=Stream(Reader(1), Writer(100)), server=Stream(reader, Writer(1))) as run:
        until(lambda: run.came > MEGABYTE)
        run.client.stop()
        until(lambda: run.came == run.sent)
    assert reader.mapped == 0


def test_a_large_enough_read_is_waited_for() -> None:
    reader = MappedReader(LARGE)
    least = (socket.SOL_SOCKET, socket.SO_RCVLOWAT, LARGE)
    client = Stream(Reader(1), Writer(SIZE), delay=1_000_000)
    with streaming([WRITE], READ, client=client, server=Stream(reader, Writer(1)), options=[least]) as run:
        until(lambda: run.came > 10 * LARGE)
    assert reader.received / reader.reads > SIZE


@pytest.mark.parametrize("size", [mmap.PAGESIZE, LARGE])
def test_the_end_is_noticed(size: int) -> None:
    with streaming([WRITE], READ, server=Stream(MappedReader(size), Writer(1))) as run:
        until(lambda: run.came > 0)
        run.client.stop()
        until(lambda: run.came == run.sent)
        run.client.close()
        until(lambda: run.server.open == 0)
