"""What reviews broke once: connections outside every space, interrupted anywhere, over several sources."""

from __future__ import annotations

import gc
import resource
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Never

import pytest

from fourtuple import Limits, PortsExhausted, aio
from fourtuple.linux import sysctl
from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports import Census, Connector
from fourtuple.ports import sock as sock_module
from kernel.servers import NewConnector, Server, census, close_after_peer, counts, leased, reset, states_towards, until


class _Interrupt(Exception):
    pass


# Between the making of a socket and the block that closes it nobody else can.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_at_any_instant_loses_no_port(connector: Connector, server: Server) -> None:
    # A handler that raises, as Ctrl-C does, at thousands of instants, between any two steps of the interpreter.
    def interrupt(*_: object) -> Never:
        raise _Interrupt

    interrupted = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        reset(connector.create_connection(server.address))
        for number in range(4000):
            sock = None
            try:
                signal.setitimer(signal.ITIMER_REAL, (10 + number % 60) * 1e-6)
                sock = connector.create_connection(server.address)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except _Interrupt:
                interrupted += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            if sock is not None:
                reset(sock)
            server.accept_all()
    except _Interrupt:
        interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    gc.collect()
    assert interrupted
    assert leased(connector) == 0


@pytest.mark.parametrize("strategy", ["range", "bind"])
def test_connecting_again_after_a_connection_outside_every_space(
    new_connector: NewConnector, server: Server, strategy: str
) -> None:
    connector = new_connector(strategy=strategy)
    with connector.socket() as sock:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            assert sock.connect_ex(server.address) == 0
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert sock.connect_ex(server.address) == 106  # EISCONN, and the connection lives
        with server.accept() as peer:
            sock.send(b"x")
            assert peer.recv(1) == b"x"
        assert counts(connector).kernel_choices == 1


@pytest.mark.parametrize("unread", [True, False])
def test_our_time_wait_is_not_free_whatever_is_left_at_close(
    connector: Connector, server: Server, unread: bool
) -> None:
    sock = connector.create_connection(server.address)
    with server.accept() as peer:
        if unread:
            peer.send(b"never read")
        sock.shutdown(socket.SHUT_WR)
        assert peer.recv(1) == b""
    until(lambda: TcpState.TIME_WAIT in states_towards().values())
    if unread:
        sock.close()
    else:
        reset(sock)
    assert census(connector) == Census(19999, 0, 1, 0, 0)


async def test_a_copy_of_an_asyncio_socket(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector()
    sock = await aio.connect(*server.address, connector=connector)
    copy = sock.dup()
    assert copy.getsockname() == sock.getsockname()
    reset(copy, sock)


def test_the_next_address_is_tried_when_a_family_is_missing(
    connector: Connector, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_open: Any = sock_module._open  # pyright: ignore[reportPrivateUsage]

    def without_ipv6(sock: socket.socket, family: int, *arguments: object) -> None:
        if family == socket.AF_INET6:
            raise OSError(97, "Address family not supported by protocol")
        plain_open(sock, family, *arguments)

    def both(host: str, port: int) -> list[tuple[int, tuple[str, int]]]:
        return [(socket.AF_INET6, ("::1", port)), (socket.AF_INET, ("127.0.0.1", port))]

    monkeypatch.setattr(sock_module, "_open", without_ipv6)
    monkeypatch.setattr("fourtuple.ports.connector.resolve", both)
    reset(connector.create_connection(("localhost", server.address[1])))


@pytest.mark.port_range(10000, 10019)
def test_a_source_without_free_ports_does_not_send_others_to_the_kernel(
    new_connector: NewConnector, server: Server
) -> None:
    sysctl.write("net.ipv4.tcp_tw_reuse", 0)
    connector = new_connector(source=["127.0.0.2", "127.0.0.3"])
    for _ in range(30):
        sock = connector.create_connection(server.address)
        with server.accept():
            sock.close()
    found = counts(connector)
    assert (found.leases, found.kernel_choices, found.exhausted) == (30, 0, 0)


def test_sources_that_are_none_are_named(connector: Connector, server: Server) -> None:
    for source in (5, 1.5, b"127.0.0.1", [5], ("127.0.0.1", 5000)):
        with pytest.raises(ValueError, match="source"):
            connector.create_connection(server.address, source=source)  # pyright: ignore[reportArgumentType]


def test_a_peer_that_closed_first_still_frees_at_once(connector: Connector, server: Server) -> None:
    sock = connector.create_connection(server.address)
    close_after_peer(sock, server.accept())
    assert census(connector) == Census(20000, 0, 0, 0, 0)


@pytest.mark.parametrize("strategy", ["range", "bind", "kernel"])
def test_threads_do_not_exceed_the_limit_of_ports(new_connector: NewConnector, server: Server, strategy: str) -> None:
    connector = new_connector(strategy=strategy, limits=Limits(ports=5))
    together = threading.Barrier(16)

    def connect(_: int) -> socket.socket | None:
        together.wait()
        try:
            return connector.create_connection(server.address)
        except PortsExhausted:
            return None

    with ThreadPoolExecutor(16) as pool:
        made = [sock for sock in pool.map(connect, range(16)) if sock is not None]
    # Those under way count, so fewer can be admitted, and never more.
    assert 1 <= len(made) <= 5
    assert leased(connector) == len(made)
    reset(*made)
