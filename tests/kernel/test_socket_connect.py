"""connect() and connect_ex() of the socket that chooses its port: blocking, not blocking, with a timeout, and again."""

from __future__ import annotations

import errno
import selectors
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from fourtuple.linux import sysctl, tcp_info
from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports import Connector
from kernel.servers import (
    PATIENCE,
    PORT,
    NewConnector,
    Server,
    census,
    counts,
    leased,
    port_of,
    reset,
    states_towards,
    until,
)

FREE = (20000, 0, 0, 0, 0)
LEASED = (19999, 1, 0, 0, 0)
STRATEGIES = pytest.mark.parametrize("strategy", ["range", "bind", "kernel"])

NOBODY = ("127.0.0.1", 5999)
"""Where nobody listens."""


@contextmanager
def deaf_server() -> Generator[tuple[str, int], None, None]:
    """A server that answers nobody any more: its queue of connections to accept is full."""
    with Server(backlog=0) as server, ExitStack() as stack:
        filling = stack.enter_context(socket.create_connection(server.address))
        assert tcp_info.read(filling).state is TcpState.ESTABLISHED
        yield server.address


def wait_writable(sock: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        assert selector.select(PATIENCE)


class TestNonBlocking:
    @STRATEGIES
    def test_in_progress_then_connected(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with connector.socket() as sock:
            sock.setblocking(False)
            with pytest.raises(BlockingIOError) as raised:
                sock.connect(server.address)
            assert raised.value.errno == errno.EINPROGRESS
            assert census(connector) == LEASED
            wait_writable(sock)
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
            assert sock.getpeername() == server.address
            with server.accept() as accepted:
                assert accepted.getpeername() == sock.getsockname()

    @STRATEGIES
    def test_in_progress_then_refused(self, new_connector: NewConnector, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with connector.socket() as sock:
            sock.setblocking(False)
            assert sock.connect_ex(NOBODY) == errno.EINPROGRESS
            wait_writable(sock)
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
        assert census(connector) == FREE

    @STRATEGIES
    def test_a_refused_one_takes_another_port_next_time(
        self, new_connector: NewConnector, server: Server, strategy: str
    ) -> None:
        connector = new_connector(strategy=strategy)
        with connector.socket() as sock:
            sock.setblocking(False)
            assert sock.connect_ex(NOBODY) == errno.EINPROGRESS
            wait_writable(sock)
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
            # As a plain socket, it says once more that it failed.
            assert sock.connect_ex(server.address) == errno.ECONNABORTED
            assert sock.connect_ex(server.address) == errno.EINPROGRESS
            wait_writable(sock)
            assert sock.getpeername() == server.address
            assert leased(connector) == 1

    @STRATEGIES
    def test_asking_again_tells_how_it_ended(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        for address, code in ((server.address, 0), (NOBODY, errno.ECONNREFUSED)):
            with connector.socket() as sock:
                sock.setblocking(False)
                assert sock.connect_ex(address) == errno.EINPROGRESS
                wait_writable(sock)
                assert sock.connect_ex(address) == code
                assert leased(connector) == (code == 0)

    def test_asked_again_while_in_progress(self, connector: Connector) -> None:
        with deaf_server() as address, connector.socket() as sock:
            sock.setblocking(False)
            assert sock.connect_ex(address) == errno.EINPROGRESS
            port = port_of(sock)
            for _ in range(3):
                assert sock.connect_ex(address) == errno.EALREADY
                with pytest.raises(BlockingIOError) as raised:
                    sock.connect(address)
                assert raised.value.errno == errno.EALREADY
            assert port_of(sock) == port
            assert counts(connector).leases == 1
            assert states_towards()[port] is TcpState.SYN_SENT
        assert leased(connector) == 0

    def test_closed_while_in_progress(self, connector: Connector) -> None:
        with deaf_server() as address:
            sock = connector.socket()
            sock.setblocking(False)
            assert sock.connect_ex(address) == errno.EINPROGRESS
            port = port_of(sock)
            sock.close()
            assert census(connector) == FREE
            assert port not in states_towards()

    @pytest.mark.port_range(10000, 10019)
    def test_ports_are_tried_until_one_is_free(self, connector: Connector, server: Server) -> None:
        with ExitStack() as stack:
            for _ in range(19):
                stack.enter_context(socket.create_connection(server.address))
            sock = stack.enter_context(connector.socket())
            sock.setblocking(False)
            assert sock.connect_ex(server.address) == errno.EINPROGRESS
            wait_writable(sock)
            assert sock.getpeername() == server.address
            assert counts(connector).refused == 19 - census(connector).free


class TestTimeout:
    @STRATEGIES
    def test_nobody_answers(self, new_connector: NewConnector, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with deaf_server() as address:
            with pytest.raises(TimeoutError, match="timed out"):
                connector.create_connection(address, timeout=0.01)
            assert census(connector) == FREE

    def test_until_it_is_closed_the_port_stays(self, connector: Connector) -> None:
        with deaf_server() as address:
            with connector.socket() as sock:
                sock.settimeout(0.01)
                with pytest.raises(TimeoutError):
                    sock.connect(address)
                assert census(connector) == LEASED
                assert states_towards()[port_of(sock)] is TcpState.SYN_SENT
                # Connecting goes on, on the same port.
                assert sock.connect_ex(address) == errno.EALREADY
                assert counts(connector).leases == 1
            assert census(connector) == FREE

    def test_the_code_is_that_of_a_plain_socket(self, connector: Connector) -> None:
        with deaf_server() as address, socket.socket() as plain, connector.socket() as ours:
            for sock in (plain, ours):
                sock.settimeout(0.01)
            assert ours.connect_ex(address) == plain.connect_ex(address) == errno.EAGAIN

    def test_the_kernel_gives_up(self, connector: Connector) -> None:
        with deaf_server() as address, connector.socket() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1)
            with pytest.raises(TimeoutError) as raised:
                sock.connect(address)
            assert raised.value.errno == errno.ETIMEDOUT
            assert census(connector) == FREE

    def test_a_generous_one_does_not_matter(self, connector: Connector, server: Server) -> None:
        with connector.create_connection(server.address, timeout=PATIENCE) as sock:
            assert sock.gettimeout() == PATIENCE
            assert leased(connector) == 1


class TestAgain:
    @STRATEGIES
    def test_when_connected(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with connector.create_connection(server.address) as sock:
            name = sock.getsockname()
            for _ in range(3):
                with pytest.raises(OSError, match="already connected"):
                    sock.connect(server.address)
                assert sock.connect_ex(server.address) == errno.EISCONN
                assert sock.connect_ex(NOBODY) == errno.EISCONN
            assert sock.getsockname() == name
            assert census(connector) == LEASED
        assert leased(connector) == 0

    @STRATEGIES
    def test_after_a_refusal(self, new_connector: NewConnector, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with connector.socket() as sock:
            for _ in range(3):
                with pytest.raises(ConnectionRefusedError):
                    sock.connect((NOBODY[0], PORT))
                assert census(connector) == FREE
            with Server() as server:
                sock.connect(server.address)
                assert census(connector) == LEASED

    def test_after_the_peer_reset_it(self, connector: Connector, server: Server) -> None:
        with connector.create_connection(server.address) as sock:
            reset(server.accept())
            with pytest.raises(ConnectionResetError):
                sock.recv(1)
            plain = sock.connect_ex(server.address)
            assert plain == errno.EISCONN
        assert leased(connector) == 0

    def test_after_our_time_wait_began(self, connector: Connector, server: Server) -> None:
        # The socket is past its connection, and the kernel still keeps the port.
        with connector.create_connection(server.address) as sock:
            port = port_of(sock)
            sock.shutdown(socket.SHUT_WR)
            server.accept().close()
            assert sock.recv(1) == b""
            until(lambda: states_towards()[port] is TcpState.TIME_WAIT)
            assert sock.connect_ex(server.address) == errno.EISCONN
        assert census(connector).cooling == 1


class TestConnectEx:
    def test_success(self, connector: Connector, server: Server) -> None:
        with connector.socket() as sock:
            assert sock.connect_ex(server.address) == 0

    def test_refused(self, connector: Connector) -> None:
        with connector.socket() as sock:
            assert sock.connect_ex(NOBODY) == errno.ECONNREFUSED
            assert census(connector) == FREE

    @pytest.mark.port_range(10000, 10000)
    def test_exhausted(self, connector: Connector, server: Server) -> None:
        with connector.create_connection(server.address), connector.socket() as sock:
            assert sock.connect_ex(server.address) == errno.EADDRNOTAVAIL

    def test_no_such_local_address(self, connector: Connector) -> None:
        sysctl.write("net.ipv6.conf.all.disable_ipv6", 1)
        with connector.socket(socket.AF_INET6) as sock:
            assert sock.connect_ex(("::1", PORT)) == errno.EADDRNOTAVAIL

    def test_a_name_that_is_none_is_raised(self, connector: Connector) -> None:
        with connector.socket() as sock, pytest.raises(socket.gaierror):
            sock.connect_ex(("no such host.invalid", PORT))

    @pytest.mark.parametrize("address", [None, ("127.0.0.1",), ("127.0.0.1", -1)])
    def test_what_is_no_address_is_raised(self, connector: Connector, address: Any) -> None:
        with connector.socket() as sock, pytest.raises((TypeError, OverflowError)):
            sock.connect_ex(address)


class TestRefusedAndReset:
    @STRATEGIES
    @pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
    def test_nobody_listens(self, new_connector: NewConnector, strategy: str, host: str) -> None:
        connector = new_connector(strategy=strategy)
        for _ in range(3):
            with pytest.raises(ConnectionRefusedError) as raised:
                connector.create_connection((host, PORT))
            assert raised.value.errno == errno.ECONNREFUSED
            assert leased(connector) == 0
        assert states_towards() == {}

    @STRATEGIES
    def test_the_peer_resets_at_once(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with connector.create_connection(server.address) as sock:
            reset(server.accept())
            with pytest.raises(ConnectionResetError):
                sock.recv(1)
        assert census(connector) == FREE
        assert states_towards() == {}

    def test_the_server_goes_before_it_accepts(self, connector: Connector) -> None:
        with Server() as server:
            sock = connector.create_connection(server.address)
        with pytest.raises(ConnectionResetError):
            sock.recv(1)
        sock.close()
        assert census(connector) == FREE


def test_ctrl_c_in_a_blocking_connect(connector: Connector) -> None:
    me = threading.get_ident()

    def interrupt() -> None:
        until(lambda: TcpState.SYN_SENT in states_towards().values())
        signal.pthread_kill(me, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with deaf_server() as address:
            thread = threading.Thread(target=interrupt)
            thread.start()
            try:
                with pytest.raises(KeyboardInterrupt):
                    connector.create_connection(address)
            finally:
                thread.join()
            assert census(connector) == FREE
            assert TcpState.SYN_SENT not in states_towards().values()
    finally:
        signal.signal(signal.SIGINT, before)
