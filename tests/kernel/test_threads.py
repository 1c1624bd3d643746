"""Many threads on one connector, close to full, and threads in namespaces of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

import fourtuple
from fourtuple.errors import PortsExhausted
from fourtuple.linux.netns import network_namespace
from fourtuple.ports import Connector
from kernel.servers import (
    NewConnector,
    Server,
    census,
    counts,
    hang_up,
    leased,
    port_of,
    reset,
    serving,
    states_towards,
)

THREADS = 8
SIZE = 2000
CYCLES = 250


def in_threads(work: Callable[[int], None]) -> None:
    """Run ``work`` in eight threads that start together; what one raises is raised."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait()
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(run, range(THREADS)))


class Ports:
    """The local ports of open sockets; one that is added twice is an error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ports: set[int] = set()

    def add(self, port: int) -> None:
        with self._lock:
            assert port not in self._ports
            self._ports.add(port)

    def remove(self, port: int) -> None:
        with self._lock:
            self._ports.remove(port)


@pytest.mark.port_range(10000, 10000 + SIZE - 1)
@pytest.mark.parametrize("strategy", ["range", "bind"])
def test_eight_threads_at_95_percent(new_connector: NewConnector, strategy: str) -> None:
    connector = new_connector(strategy=strategy)
    holding = SIZE * 95 // 100
    with Server() as server, ExitStack() as stack:
        held = [stack.enter_context(connector.create_connection(server.address)) for _ in range(holding)]
        for sock in held:
            stack.enter_context(server.accept())
            assert sock.fileno() >= 0
        with serving(server, hang_up):
            ports = Ports()

            def cycle(_: int) -> None:
                for _ in range(CYCLES):
                    sock = connector.create_connection(server.address, timeout=30)
                    port = port_of(sock)
                    ports.add(port)
                    # The server closes first, so that the port is free again after a moment.
                    assert sock.recv(1) == b""
                    ports.remove(port)
                    sock.close()

            in_threads(cycle)
        assert leased(connector) == holding
        assert census(connector).cooling == 0
        assert counts(connector).exhausted == 0
        assert counts(connector).kernel_choices == 0
        # In each of 2,000 cycles the longest-free port of at least 92 was taken: hardly one was still in LAST_ACK.
        assert counts(connector).refused < THREADS * CYCLES // 20
    assert len(set(range(10000, 10000 + SIZE)) & set(states_towards())) <= holding


@pytest.mark.port_range(10000, 10099)
def test_threads_share_the_last_ports(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector()
    with ExitStack() as stack:
        lock = threading.Lock()
        found: list[int] = []
        refused: list[PortsExhausted] = []

        def grab(_: int) -> None:
            for _ in range(20):
                try:
                    sock = connector.create_connection(server.address)
                except PortsExhausted as error:
                    refused.append(error)
                else:
                    with lock:
                        found.append(port_of(stack.enter_context(sock)))

        in_threads(grab)
        assert sorted(found) == list(range(10000, 10100))
        assert len(refused) == THREADS * 20 - 100
        assert counts(connector).exhausted == len(refused)
        assert census(connector) == (0, 100, 0, 0, 0)


def test_threads_make_spaces_and_read_statistics(new_connector: NewConnector) -> None:
    connector = new_connector()
    with ExitStack() as stack:
        servers = [stack.enter_context(Server(port=5000 + number)) for number in range(20)]

        def connect(number: int) -> None:
            for server in servers:
                for source in (None, f"127.0.0.{number + 2}"):
                    reset(connector.create_connection(server.address, source=source))
                    assert connector.statistics().counts.leases > 0

        in_threads(connect)
        assert counts(connector).leases == 2 * THREADS * len(servers)
        assert len(connector.statistics().spaces) == len(servers) * (THREADS + 1)


def test_the_first_connections_of_a_process_race(default: Connector, server: Server) -> None:
    def connect(_: int) -> None:
        for _ in range(10):
            reset(fourtuple.create_connection(server.address))

    in_threads(connect)
    assert counts(default).leases == 10 * THREADS


def test_threads_in_namespaces_of_their_own(new_connector: NewConnector) -> None:
    # One connector for several namespaces is not what it is made for: the ports of one are taken for those of another.
    # Every connection is made all the same, from the range of its own namespace.
    connector = new_connector()

    def connect(number: int) -> None:
        low = 20000 + 1000 * number
        with network_namespace(port_range=(low, low + 99)), Server() as server:
            for _ in range(20):
                with connector.create_connection(server.address) as sock:
                    assert low <= port_of(sock) <= low + 99
                    reset(sock)

    in_threads(connect)
    assert leased(connector) == 0
