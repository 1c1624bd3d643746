"""Forked children: each starts with port spaces of its own."""

from __future__ import annotations

import multiprocessing
import os
import select
import socket
import threading
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

import fourtuple
from fourtuple.linux import tcp_info
from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports import Connector, Limits, Socket
from fourtuple.ports.settings import Settings, SettingsCache, read_settings
from kernel.servers import (
    PATIENCE,
    PORT,
    Clock,
    NewConnector,
    Server,
    census,
    close_after_peer,
    counts,
    leased,
    port_of,
    reset,
    until,
)

STRATEGIES = pytest.mark.parametrize("strategy", ["range", "bind"])


def in_child(work: Callable[[], None]) -> None:
    """Run ``work`` in a forked child. Raises what it raised, as text, and TimeoutError if it hangs."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of forks beside threads, which is what some of these tests are about.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        report = b"died"
        try:
            work()
            report = b""
        except BaseException:
            report = traceback.format_exc().encode()
        finally:
            os.write(writer, report)
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as reports:
        hung = not wait_for_end(pid)
        report = reports.read().decode()
    if hung:
        raise TimeoutError("the child hangs")
    if report:
        raise AssertionError(report)


def wait_for_end(pid: int) -> bool:
    """Whether the child ended; one that hangs is killed."""
    with open(os.pidfd_open(pid)) as end:
        ended = bool(select.select([end], [], [], PATIENCE / 3)[0])
    if not ended:
        os.kill(pid, 9)
    os.waitpid(pid, 0)
    return ended


@STRATEGIES
def test_a_child_starts_with_its_own_state(
    new_connector: NewConnector, clock: Clock, server: Server, strategy: str
) -> None:
    connector = new_connector(clock=clock, strategy=strategy)
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connector.create_connection(server.address))

        def child() -> None:
            assert connector.statistics().spaces == ()
            assert counts(connector).leases == 0
            with connector.create_connection(server.address):
                assert leased(connector) == 1
            assert leased(connector) == 0

        in_child(child)
        assert leased(connector) == 5


@STRATEGIES
def test_a_childs_closes_do_not_disturb_the_parent(
    new_connector: NewConnector, clock: Clock, server: Server, strategy: str
) -> None:
    connector = new_connector(clock=clock, strategy=strategy)
    sock = connector.create_connection(server.address)
    accepted = server.accept()

    def child() -> None:
        sock.close()
        assert connector.statistics().spaces == ()

    in_child(child)
    assert census(connector) == (19999, 1, 0, 0, 0)
    sock.sendall(b"still here")
    assert accepted.recv(99) == b"still here"
    close_after_peer(sock, accepted)
    assert census(connector) == (20000, 0, 0, 0, 0)


@pytest.mark.port_range(10000, 10009)
@STRATEGIES
def test_a_child_learns_the_parents_ports(new_connector: NewConnector, server: Server, strategy: str) -> None:
    connector = new_connector(strategy=strategy)
    with ExitStack() as stack:
        parents = {port_of(stack.enter_context(connector.create_connection(server.address))) for _ in range(5)}

        def child() -> None:
            with ExitStack() as mine:
                for _ in range(5):
                    sock = mine.enter_context(connector.create_connection(server.address))
                    assert port_of(sock) not in parents
                with pytest.raises(fourtuple.PortsExhausted):
                    connector.create_connection(server.address)
                assert census(connector) == (0, 5, 0, 5, 0)

        in_child(child)


@pytest.mark.port_range(10000, 10000)
def test_a_lease_of_the_parent_means_nothing_in_the_child(connector: Connector, server: Server) -> None:
    # The peer has reset the parent's connection, so the child's own gets the same, only port.
    sock = connector.create_connection(server.address)
    reset(server.accept())
    until(lambda: tcp_info.read(sock).state is TcpState.CLOSE)

    def child() -> None:
        mine = connector.create_connection(server.address)
        sock.close()
        assert leased(connector) == 1
        reset(mine)
        assert leased(connector) == 0

    in_child(child)
    sock.close()


def test_a_grandchild(connector: Connector, server: Server) -> None:
    def child() -> None:
        with connector.create_connection(server.address):
            in_child(lambda: reset(connector.create_connection(server.address)))
            assert leased(connector) == 1

    with connector.create_connection(server.address):
        in_child(child)
        assert leased(connector) == 1


class StallingRead:
    """Reads the settings, and takes its time when told to."""

    def __init__(self) -> None:
        self.stall = False
        self.stalling = threading.Event()
        self.proceed = threading.Event()

    def __call__(self) -> Settings:
        if self.stall:
            self.stalling.set()
            self.proceed.wait(PATIENCE)
        return read_settings()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"], ids=["of a space", "of the registry"])
def test_a_lock_held_by_another_thread_does_not_hang_the_child(
    new_connector: NewConnector, clock: Clock, host: str
) -> None:
    # The thread reads the settings for a space it has, or for a new one, with the lock of the one or of all.
    read = StallingRead()
    connector = new_connector(clock=clock, settings=SettingsCache(read))
    with Server("0.0.0.0"), ThreadPoolExecutor(1) as pool:
        reset(connector.create_connection(("127.0.0.1", PORT)))
        read.stall = True
        clock.turn(5)
        other = pool.submit(connector.create_connection, (host, PORT))
        assert read.stalling.wait(PATIENCE)

        def child() -> None:
            read.stall = False
            for known in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
                reset(connector.create_connection((known, PORT)))
            assert leased(connector) == 0

        try:
            in_child(child)
        finally:
            read.proceed.set()
            reset(other.result())


def test_forks_beside_busy_threads(new_connector: NewConnector) -> None:
    connector = new_connector()
    stop = threading.Event()
    with Server() as server, ExitStack() as stack:
        targets = [server, *(stack.enter_context(Server(port=port)) for port in range(5001, 5005))]

        def busy() -> None:
            while not stop.is_set():
                for target in targets:
                    reset(connector.create_connection(target.address), target.accept())

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            for _ in range(20):
                in_child(lambda: reset(connector.create_connection(server.address)))
        finally:
            stop.set()
            thread.join()


def _work(address: tuple[str, int], results: multiprocessing.SimpleQueue[tuple[int, int]]) -> None:
    connector = fourtuple.ports.default_connector()
    before = counts(connector).leases
    with fourtuple.create_connection(address):
        results.put((before, leased(connector)))


def test_multiprocessing(default: Connector, server: Server) -> None:
    context = multiprocessing.get_context("fork")
    with fourtuple.create_connection(server.address):
        results: multiprocessing.SimpleQueue[tuple[int, int]] = context.SimpleQueue()
        workers = [context.Process(target=_work, args=(server.address, results)) for _ in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(PATIENCE)
            assert worker.exitcode == 0
            worker.close()
        assert [results.get() for _ in workers] == [(0, 1)] * 3
        results.close()
        assert leased(default) == 1


def test_limits_count_for_each_process(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector(limits=Limits(ports=1))

    def child() -> None:
        socks: list[Socket] = [connector.create_connection(server.address)]
        with pytest.raises(fourtuple.PortsExhausted):
            connector.create_connection(server.address)
        reset(*socks)

    with connector.create_connection(server.address) as sock:
        in_child(child)
        assert isinstance(sock, socket.socket)
