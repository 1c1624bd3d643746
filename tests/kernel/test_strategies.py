"""How a port gets onto a socket: the fall-back order, and what each way leaves behind."""

from __future__ import annotations

import fcntl
import os
import selectors
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from fourtuple.errors import PortsExhausted
from fourtuple.linux import sockopt, sysctl
from fourtuple.linux.features import has_local_port_range, has_shared_bind
from fourtuple.ports import Limits, Socket, Strategy, best_strategy
from kernel.servers import (
    PATIENCE,
    NewConnector,
    Server,
    census,
    counts,
    leased,
    port_of,
    reset,
)

FEW = pytest.mark.port_range(10000, 10009)
EVERY = set(range(10000, 10010))


@contextmanager
def holding(server: Server, ports: set[int], source: str = "") -> Generator[None, None, None]:
    """Hold ports towards the server so that bind() to them works and connect() does not."""
    with ExitStack() as stack:
        for port in ports:
            sock = stack.enter_context(socket.socket())
            sockopt.reset_on_close(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((source, port))
            sock.connect(server.address)
        yield


@pytest.mark.usefixtures("netns")
class TestFallBack:
    def test_this_kernel_has_the_best(self) -> None:
        assert has_local_port_range()
        assert best_strategy() is Strategy.RANGE

    def test_without_a_port_range_ports_are_bound(self) -> None:
        assert has_shared_bind()
        assert best_strategy(has_range=lambda: False) is Strategy.BIND

    def test_without_either_the_kernel_chooses(self) -> None:
        assert best_strategy(has_range=lambda: False, has_shared_bind=lambda: False) is Strategy.KERNEL

    def test_a_connector_takes_the_best(self, new_connector: NewConnector) -> None:
        assert new_connector().strategy is Strategy.RANGE
        assert new_connector(strategy="bind").strategy is Strategy.BIND

    def test_an_unknown_one_is_an_error_that_lists_them(self, new_connector: NewConnector) -> None:
        with pytest.raises(ValueError, match=r"^strategy must be one of range, bind, kernel, not 'brute'"):
            new_connector(strategy="brute")


def test_a_kernel_without_the_option_gets_along(
    new_connector: NewConnector, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A socket option that no kernel has.
    monkeypatch.setattr(sockopt, "IP_LOCAL_PORT_RANGE", 250)
    assert not has_local_port_range()
    connector = new_connector()
    assert connector.strategy is Strategy.BIND
    with connector.create_connection(server.address) as sock:
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 1
        assert counts(connector).kernel_choices == 0


class TestRange:
    def test_the_port_stays_open_to_everyone_else(self, new_connector: NewConnector, server: Server) -> None:
        sysctl.write("net.ipv4.ip_local_port_range", "10000 10000")
        with (
            Server("127.0.0.2") as elsewhere,
            new_connector(strategy="range").create_connection(server.address),
            socket.create_connection(elsewhere.address) as plain,
        ):
            assert port_of(plain) == 10000

    def test_the_same_descriptor_takes_port_after_port(self, new_connector: NewConnector, server: Server) -> None:
        sysctl.write("net.ipv4.ip_local_port_range", "10000 10009")
        with ExitStack() as stack:
            for _ in range(9):
                stack.enter_context(socket.create_connection(server.address))
            connector = new_connector(strategy="range")
            sock = stack.enter_context(connector.socket())
            identity = os.fstat(sock.fileno()).st_ino
            sock.connect(server.address)
            assert os.fstat(sock.fileno()).st_ino == identity
            assert counts(connector).refused == 9 - census(connector).free

    def test_left_to_the_kernel_no_range_remains(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector(strategy="range", limits=Limits(tries=1))
        sysctl.write("net.ipv4.ip_local_port_range", "10000 10001")
        with ExitStack() as stack:
            stack.enter_context(socket.create_connection(server.address))
            sock = stack.enter_context(connector.create_connection(server.address))
            allowed = sock.getsockopt(socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE)
            assert allowed == (0 if counts(connector).kernel_choices else sockopt.one_port(port_of(sock)))


class TestBind:
    @pytest.mark.port_range(10000, 10099)
    def test_a_refusal_renews_the_descriptor_and_keeps_all_else(
        self, new_connector: NewConnector, server: Server
    ) -> None:
        # The one free port of a hundred is hardly ever the first to be tried.
        connector = new_connector(strategy="bind", limits=Limits(tries=100))
        with holding(server, {*range(10000, 10100)} - {10004}), connector.socket() as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, True)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 4321)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, sockopt.RESET_LINGER)
            sock.settimeout(PATIENCE)
            sock.set_inheritable(True)
            number, identity = sock.fileno(), os.fstat(sock.fileno()).st_ino
            sock.connect(server.address)
            assert port_of(sock) == 10004
            assert counts(connector).refused == 99 - census(connector).free
            assert sock.fileno() == number
            assert (os.fstat(number).st_ino == identity) is (counts(connector).refused == 0)
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 4321
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) == sockopt.RESET_LINGER
            assert fcntl.fcntl(sock, fcntl.F_GETFL) & os.O_NONBLOCK
            assert sock.get_inheritable()

    @FEW
    @pytest.mark.parametrize("blocking", [False, True])
    def test_the_blocking_mode_and_inheritability_stay(
        self, new_connector: NewConnector, server: Server, blocking: bool
    ) -> None:
        connector = new_connector(strategy="bind")
        with holding(server, EVERY - {10004}), connector.socket() as sock, selectors.DefaultSelector() as selector:
            sock.setblocking(blocking)
            if not blocking:
                with pytest.raises(BlockingIOError):
                    sock.connect(server.address)
                selector.register(sock, selectors.EVENT_WRITE)
                assert selector.select(PATIENCE)
                assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
            else:
                sock.connect(server.address)
            assert bool(fcntl.fcntl(sock, fcntl.F_GETFL) & os.O_NONBLOCK) is not blocking
            assert not sock.get_inheritable()
            assert sock.getpeername() == server.address
            assert port_of(sock) == 10004

    @FEW
    def test_a_full_range_is_told_and_filled_again(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector(strategy="bind")
        with ExitStack() as stack:
            socks = [stack.enter_context(connector.create_connection(server.address)) for _ in range(10)]
            assert {port_of(sock) for sock in socks} == EVERY
            for sock in socks:
                with pytest.raises(PortsExhausted):
                    connector.create_connection(server.address)
                reset(sock)
                stack.enter_context(connector.create_connection(server.address))
            assert counts(connector).kernel_choices == 0

    @FEW
    def test_one_port_serves_every_destination(self, new_connector: NewConnector) -> None:
        connector = new_connector(strategy="bind")
        with ExitStack() as stack:
            for port in (5000, 5001, 5002):
                server = stack.enter_context(Server(port=port))
                socks = [stack.enter_context(connector.create_connection(server.address)) for _ in range(10)]
                assert {port_of(sock) for sock in socks} == EVERY

    @FEW
    def test_a_port_bound_by_others_is_passed_over(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector(strategy="bind")
        with ExitStack() as stack:
            for port in range(10000, 10009):
                sock = stack.enter_context(socket.socket())
                sock.bind(("", port))
            last = stack.enter_context(connector.create_connection(server.address))
            assert port_of(last) == 10009
            with pytest.raises(PortsExhausted):
                connector.create_connection(server.address)
            assert census(connector) == (0, 1, 0, 9, 0)

    @pytest.mark.parametrize("bound_by", ["source=", "source_address=", "bind()"])
    @pytest.mark.port_range(10000, 10019)
    def test_the_source_address_survives_a_refusal(
        self, new_connector: NewConnector, server: Server, bound_by: str
    ) -> None:
        # One try, so that the refused connection is left to the kernel, which has ports left.
        connector = new_connector(strategy="bind", limits=Limits(tries=1))
        # The order of first use alternates between even and odd ports, wherever it starts.
        with holding(server, set(range(10000, 10020, 2)), source="127.0.0.2"), ExitStack() as stack:
            for _ in range(10):
                if bound_by == "source=":
                    sock = connector.create_connection(server.address, source="127.0.0.2")
                elif bound_by == "source_address=":
                    sock = connector.create_connection(server.address, source_address=("127.0.0.2", 0))
                else:
                    sock = connector.socket()
                    sock.bind(("127.0.0.2", 0))
                    sock.connect(server.address)
                stack.enter_context(sock)
                assert sock.getsockname()[0] == "127.0.0.2"
            assert counts(connector).kernel_choices == counts(connector).refused > 0


class TestKernel:
    def test_no_port_is_imposed(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector(strategy="kernel")
        with connector.create_connection(server.address) as sock:
            assert sock.getsockopt(socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE) == 0
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
            done = counts(connector)
            assert (done.leases, done.kernel_choices, done.refused) == (0, 1, 0)
            assert census(connector).leased == 1

    def test_a_refused_connection_is_not_counted(self, new_connector: NewConnector) -> None:
        connector = new_connector(strategy="kernel")
        with pytest.raises(ConnectionRefusedError):
            connector.create_connection(("127.0.0.1", 5000))
        assert leased(connector) == 0


@FEW
@pytest.mark.parametrize("first", ["range", "bind", "kernel"])
@pytest.mark.parametrize("second", ["range", "bind", "kernel"])
def test_of_a_mix_the_kernel_is_the_judge(new_connector: NewConnector, server: Server, first: str, second: str) -> None:
    connectors = [new_connector(strategy=first), new_connector(strategy=second)]
    with ExitStack() as stack:
        socks: list[Socket] = []
        full = 0
        while full < 2:
            full = 0
            for connector in connectors:
                try:
                    socks.append(stack.enter_context(connector.create_connection(server.address)))
                except PortsExhausted:
                    full += 1
        assert len({port_of(sock) for sock in socks}) == len(socks) == 10
        assert sum(map(leased, connectors)) == 10
