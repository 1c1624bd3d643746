"""Addresses of every kind, on loopback and over a cable, and what is no address."""

from __future__ import annotations

import errno
import socket
import urllib.request
from collections.abc import Callable, Generator
from contextlib import ExitStack
from typing import Any

import pytest

import fourtuple
from fourtuple.errors import PortsExhausted
from fourtuple.ports import Connector, Socket, Strategy
from kernel.links import HERE, THERE, ip, linked_namespaces
from kernel.servers import PORT, Clock, NewConnector, Server, census, counts, leased, port_of, reset, serving

STRATEGIES = pytest.mark.parametrize("strategy", Strategy)


@STRATEGIES
@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1"])
def test_a_literal(new_connector: NewConnector, strategy: Strategy, host: str) -> None:
    connector = new_connector(strategy=strategy)
    with Server(host) as server, connector.create_connection(server.address) as sock:
        assert sock.getpeername()[:2] == server.address
        assert 10000 <= port_of(sock) <= 29999
        assert census(connector).leased == 1


def test_a_name(connector: Connector, server: Server) -> None:
    with connector.create_connection(("localhost", PORT)) as sock:
        assert sock.getpeername() == server.address


def test_a_name_for_a_bare_socket(connector: Connector, server: Server) -> None:
    with connector.socket() as sock:
        sock.connect(("localhost", PORT))
        assert sock.getpeername() == server.address
        assert census(connector).leased == 1


def test_no_host_is_this_one(connector: Connector, server: Server) -> None:
    with connector.create_connection((None, PORT)) as sock:
        assert sock.getpeername() == server.address


def test_an_empty_host_is_this_one_for_a_bare_socket(connector: Connector, server: Server) -> None:
    with connector.socket() as sock:
        sock.connect(("", PORT))
        assert sock.getpeername() == server.address


def test_bytes_are_a_host(connector: Connector, server: Server) -> None:
    with connector.create_connection((b"127.0.0.1", PORT)) as sock:  # pyright: ignore[reportArgumentType]
        assert sock.getpeername() == server.address
    with connector.socket() as sock:
        sock.connect((b"127.0.0.1", PORT))
        assert sock.getpeername() == server.address


def test_a_service_name(connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(port=80) as server, connector.create_connection(("127.0.0.1", "http")) as sock:
        assert sock.getpeername() == server.address


@pytest.mark.port_range(10000, 10009)
@STRATEGIES
def test_a_mapped_address_shares_the_ports_of_ipv4(
    new_connector: NewConnector, server: Server, strategy: Strategy
) -> None:
    connector = new_connector(strategy=strategy)
    with ExitStack() as stack:
        for host in ("127.0.0.1", "::ffff:127.0.0.1") * 5:
            sock = stack.enter_context(connector.create_connection((host, PORT)))
            assert sock.family == (socket.AF_INET6 if ":" in host else socket.AF_INET)
        assert census(connector) == (0, 10, 0, 0, 0)
        for host in ("127.0.0.1", "::ffff:127.0.0.1"):
            with pytest.raises(PortsExhausted, match=r"from 127\.0\.0\.1 to 127\.0\.0\.1:5000"):
                connector.create_connection((host, PORT))
        assert counts(connector).refused == 0


def test_a_mapped_address_from_a_source(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector(source="127.0.0.2")
    with connector.create_connection(("::ffff:127.0.0.1", PORT)) as sock:
        assert sock.getsockname()[0] == "::ffff:127.0.0.2"
        with server.accept() as accepted:
            assert accepted.getpeername()[0] == "127.0.0.2"


def test_spellings_of_one_address_share_its_ports(connector: Connector) -> None:
    with Server("::1") as server, ExitStack() as stack:
        for host in ("::1", "0:0:0:0:0:0:0:1", "0::1", "::0.0.0.1"):
            stack.enter_context(connector.create_connection((host, PORT)))
            bare = stack.enter_context(connector.socket(socket.AF_INET6))
            bare.connect((host, PORT))
        assert census(connector).leased == 8
        assert server.address == ("::1", PORT)


@pytest.mark.parametrize("address", [("::1", PORT), ("::1", PORT, 0), ("::1", PORT, 0, 0)], ids=len)
def test_ipv6_addresses_of_every_length(connector: Connector, address: tuple[Any, ...]) -> None:
    with Server("::1"), connector.socket(socket.AF_INET6) as sock:
        sock.connect(address)
        assert sock.getpeername() == ("::1", PORT, 0, 0)
        assert census(connector).leased == 1


class TestOverACable:
    @pytest.fixture
    def serve(self, new_connector: NewConnector) -> Generator[Callable[[str], Server], None, None]:
        """Starts servers at the other end of the cable."""
        with linked_namespaces((10000, 10009)) as (_, there), ExitStack() as stack:
            for namespace, address in ((there, "fe80::77:2"), (None, "fe80::77:1")):
                with namespace.enter() if namespace else ExitStack():
                    ip(f"-6 addr add {address}/64 dev veth0 nodad")

            def start(host: str) -> Server:
                with there.enter():
                    return stack.enter_context(Server(host))

            yield start

    @STRATEGIES
    @pytest.mark.parametrize("family", [4, 6])
    def test_to_another_machine(
        self, new_connector: NewConnector, serve: Callable[[str], Server], strategy: Strategy, family: int
    ) -> None:
        server = serve(THERE[family])
        connector = new_connector(strategy=strategy)
        with ExitStack() as stack:
            socks = [stack.enter_context(connector.create_connection(server.address)) for _ in range(10)]
            assert {sock.getsockname()[:2] for sock in socks} == {(HERE[family], port) for port in range(10000, 10010)}
            with pytest.raises(PortsExhausted):
                connector.create_connection(server.address)
            reset(socks[0])
            stack.enter_context(connector.create_connection(server.address))

    @STRATEGIES
    def test_to_a_link_local_address(
        self, new_connector: NewConnector, serve: Callable[[str], Server], strategy: Strategy
    ) -> None:
        serve("::")
        index = socket.if_nametoindex("veth0")
        connector = new_connector(strategy=strategy)
        with ExitStack() as stack:
            for host in ("fe80::77:2%veth0", f"fe80::77:2%{index}"):
                sock = stack.enter_context(connector.create_connection((host, PORT)))
                assert sock.getpeername() == ("fe80::77:2", PORT, 0, index)
                bare = stack.enter_context(connector.socket(socket.AF_INET6))
                bare.connect((host, PORT))
                assert bare.getpeername() == ("fe80::77:2", PORT, 0, index)
            bare = stack.enter_context(connector.socket(socket.AF_INET6))
            bare.connect(("fe80::77:2", PORT, 0, index))
            assert census(connector).leased == 5

    def test_without_its_zone_a_link_local_address_is_the_kernels_error(
        self, connector: Connector, serve: Callable[[str], Server]
    ) -> None:
        serve("::")
        with pytest.raises(OSError, match="Invalid argument") as raised:
            connector.create_connection(("fe80::77:2", PORT))
        assert raised.value.errno == errno.EINVAL
        assert leased(connector) == 0

    def test_where_no_route_leads(self, connector: Connector, serve: Callable[[str], Server]) -> None:
        for host in ("198.51.100.1", "2001:db8::1"):
            with pytest.raises(OSError, match="unreachable") as raised:
                connector.create_connection((host, PORT))
            assert raised.value.errno == errno.ENETUNREACH
        assert leased(connector) == 0


class TestNotTcp:
    @pytest.mark.parametrize(
        ("family", "kind", "proto"),
        [
            (socket.AF_INET, socket.SOCK_DGRAM, 0),
            (socket.AF_INET6, socket.SOCK_DGRAM, 0),
            (socket.AF_UNIX, socket.SOCK_STREAM, 0),
            (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
        ],
    )
    def test_a_new_socket(self, connector: Connector, family: int, kind: int, proto: int) -> None:
        with pytest.raises(ValueError, match=r"^family, type, proto: only TCP"):
            connector.socket(family, kind, proto)
        with pytest.raises(ValueError, match=r"^family, type, proto: only TCP"):
            Socket(family, kind, proto, registry=connector.registry)

    def test_a_descriptor_is_left_as_it_was(self, connector: Connector) -> None:
        one, other = socket.socketpair()
        with one, other:
            with pytest.raises(ValueError, match=r"^family, type, proto: only TCP"):
                connector.socket(fileno=one.fileno())
            one.sendall(b"still open")
            assert other.recv(99) == b"still open"

    @pytest.mark.parametrize("kind", [socket.SOCK_STREAM | socket.SOCK_NONBLOCK, socket.SOCK_STREAM | 0])
    def test_tcp_with_flags_is_tcp(self, connector: Connector, kind: int) -> None:
        with connector.socket(socket.AF_INET, kind, socket.IPPROTO_TCP) as sock:
            assert sock.getblocking() is not bool(kind & socket.SOCK_NONBLOCK)


@pytest.mark.parametrize(
    "address",
    [("127.0.0.1",), ("127.0.0.1", 80, 0), "127.0.0.1", 5, None, ("127.0.0.1", -1), ("127.0.0.1", 65536)],
    ids=repr,
)
def test_a_bad_address_is_a_named_error(connector: Connector, address: Any) -> None:
    with pytest.raises(ValueError, match=r"^address"):
        connector.create_connection(address)


@pytest.mark.parametrize(
    "address",
    [
        ["127.0.0.1", PORT],
        ("127.0.0.1",),
        ("127.0.0.1", PORT, 0),
        ("127.0.0.1", "5000"),
        ("127.0.0.1", 65536),
        ("127.0.0.1", -1),
        ("127.0.0.1", 1.5),
        (None, PORT),
        (5, PORT),
        "127.0.0.1",
        None,
        b"",
        ("::1", PORT),
        ("no such host.invalid", PORT),
        ("x" * 64, PORT),
    ],
    ids=repr,
)
def test_a_bare_socket_says_what_a_plain_one_says(connector: Connector, address: Any) -> None:
    with socket.socket() as plain, connector.socket() as ours:
        with pytest.raises(Exception) as expected:  # noqa: PT011 (whatever it is)
            plain.connect(address)
        with pytest.raises(type(expected.value)) as raised:
            ours.connect(address)
        assert str(raised.value) == str(expected.value)
    assert leased(connector) == 0


def test_port_0_is_refused_by_the_kernel(connector: Connector) -> None:
    with pytest.raises(ConnectionRefusedError):
        connector.create_connection(("127.0.0.1", 0))
    assert census(connector).leased == 0


@pytest.mark.parametrize("timeout", [-1, float("nan")])
def test_a_bad_timeout_is_an_error(connector: Connector, server: Server, timeout: float) -> None:
    with pytest.raises(ValueError, match=r"(?i)timeout|NaN"):
        connector.create_connection(server.address, timeout)


def test_the_default_timeout_is_that_of_the_socket_module(
    connector: Connector, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        socket.setdefaulttimeout(12.5)
        with connector.create_connection(server.address) as sock:
            assert sock.gettimeout() == 12.5
        with connector.create_connection(server.address, None) as sock:
            assert sock.gettimeout() is None
    finally:
        socket.setdefaulttimeout(None)


def test_the_function_of_the_package(default: Connector, server: Server) -> None:
    with fourtuple.create_connection(server.address) as sock, Socket() as bare:
        assert type(sock) is Socket
        bare.connect(server.address)
        assert census(default).leased == 2


def test_a_client_of_the_standard_library(default: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
    # It passes on a default timeout of its own making, and reads through makefile().
    def answer(sock: socket.socket) -> None:
        sock.recv(4096)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")

    monkeypatch.setattr(socket, "create_connection", fourtuple.create_connection)
    with Server() as server, serving(server, answer):
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/") as response:
            assert leased(default) == 1
            assert response.read() == b"hi"
        monkeypatch.undo()
    assert leased(default) == 0


def test_a_closed_connector_opens_no_more(new_connector: NewConnector, server: Server, clock: Clock) -> None:
    with new_connector(clock=clock) as connector:
        sock = connector.create_connection(server.address)
        late = connector.socket()
    with pytest.raises(ValueError, match="this connector is closed"):
        connector.create_connection(server.address)
    with pytest.raises(ValueError, match="this connector is closed"):
        connector.socket()
    # What there is stays in order.
    late.connect(server.address)
    reset(sock, late)
    assert leased(connector) == 0
