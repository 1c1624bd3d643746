"""A range with every port in use: exactly so many connections, then an error that tells everything."""

from __future__ import annotations

import errno
import pickle
import socket
from contextlib import ExitStack

import pytest

from fourtuple.errors import NoSuchLocalAddress, PortsExhausted
from fourtuple.linux import sysctl
from fourtuple.ports import Connector, Limits, Strategy
from kernel.servers import (
    Clock,
    NewConnector,
    Server,
    census,
    close_after_peer,
    counts,
    fill,
    port_of,
    reset,
    states_towards,
    until,
)

SIZE = 100
pytestmark = pytest.mark.port_range(10000, 10000 + SIZE - 1)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("strategy", Strategy)
def test_every_port_serves_one_connection(new_connector: NewConnector, strategy: Strategy, host: str) -> None:
    connector = new_connector(strategy=strategy)
    with Server(host) as server, ExitStack() as stack:
        socks = fill(connector, server, stack)
        assert sorted(port_of(sock) for sock in socks) == list(range(10000, 10000 + SIZE))
        assert census(connector) == (0, SIZE, 0, 0, 0)
        assert counts(connector).exhausted == 1


def test_every_destination_has_all_ports(connector: Connector) -> None:
    with ExitStack() as stack:
        for host, port in (("127.0.0.1", 5000), ("127.0.0.1", 5001), ("127.0.0.2", 5000)):
            server = stack.enter_context(Server(host, port))
            assert len(fill(connector, server, stack)) == SIZE


def test_the_error_has_the_figures(connector: Connector, server: Server, clock: Clock) -> None:
    with ExitStack() as stack:
        closed, *_ = fill(connector, server, stack)
        closed.close()
        with pytest.raises(PortsExhausted) as raised:
            connector.create_connection(server.address)
    error = raised.value
    assert isinstance(error, OSError)
    assert error.errno == errno.EADDRNOTAVAIL
    shortage = error.shortage
    assert (shortage.source, shortage.destination) == ("127.0.0.1", "127.0.0.1:5000")
    assert (shortage.low, shortage.high, shortage.size) == (10000, 10099, SIZE)
    assert (shortage.leased, shortage.cooling, shortage.foreign, shortage.excluded) == (SIZE - 1, 1, 0, 0)
    assert shortage.next_free == pytest.approx(1.05)
    assert len(set(error.remedies)) == 3
    for figure in ("10000-10099", "99 in use here", "1 cooling", "127.0.0.1:5000", *error.remedies):
        assert figure in str(error)


def test_the_error_survives_pickling(connector: Connector, server: Server) -> None:
    with ExitStack() as stack:
        fill(connector, server, stack)
        with pytest.raises(PortsExhausted) as raised:
            connector.create_connection(server.address)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert type(copy) is PortsExhausted
    assert (copy.errno, copy.shortage, copy.remedies) == (
        errno.EADDRNOTAVAIL,
        raised.value.shortage,
        raised.value.remedies,
    )
    assert str(copy) == str(raised.value)


@pytest.mark.parametrize("strategy", Strategy)
def test_one_that_closes_makes_room_for_one(new_connector: NewConnector, server: Server, strategy: Strategy) -> None:
    connector = new_connector(strategy=strategy)
    with ExitStack() as stack:
        first, *_ = fill(connector, server, stack)
        port = port_of(first)
        close_after_peer(first, server.accept())
        until(lambda: port not in states_towards())
        again = stack.enter_context(connector.create_connection(server.address))
        assert port_of(again) == port
        with pytest.raises(PortsExhausted):
            connector.create_connection(server.address)


def test_a_socket_that_found_no_port_can_try_again(connector: Connector, server: Server) -> None:
    with ExitStack() as stack:
        first, *_ = fill(connector, server, stack)
        sock = stack.enter_context(connector.socket())
        for _ in range(3):
            with pytest.raises(PortsExhausted):
                sock.connect(server.address)
            assert sock.connect_ex(server.address) == errno.EADDRNOTAVAIL
        reset(first)
        sock.connect(server.address)
        assert sock.getpeername() == server.address


def test_a_nonblocking_socket_is_told_at_once(connector: Connector, server: Server) -> None:
    with ExitStack() as stack:
        fill(connector, server, stack)
        sock = stack.enter_context(connector.socket())
        sock.setblocking(False)
        with pytest.raises(PortsExhausted):
            sock.connect(server.address)


@pytest.mark.parametrize("strategy", Strategy)
def test_a_limit_leaves_the_rest_to_others(new_connector: NewConnector, server: Server, strategy: Strategy) -> None:
    connector = new_connector(strategy=strategy, limits=Limits(ports=7))
    with ExitStack() as stack:
        first, *rest = fill(connector, server, stack)
        assert len(rest) == 6
        with pytest.raises(PortsExhausted, match=r"93 kept free by a limit.*raise Limits\.ports") as raised:
            connector.create_connection(server.address)
        assert (raised.value.shortage.leased, raised.value.shortage.free) == (7, SIZE - 7)
        reset(first)
        stack.enter_context(connector.create_connection(server.address))


def test_sources_multiply_the_ports(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector(source=["127.0.0.2", "127.0.0.3"])
    with ExitStack() as stack:
        socks = fill(connector, server, stack)
        pairs = {sock.getsockname() for sock in socks}
        assert len(pairs) == len(socks) == 2 * SIZE
        with pytest.raises(PortsExhausted) as raised:
            connector.create_connection(server.address)
        assert {raised.value.shortage.source} | {
            note.split(" from ")[1].split()[0] for note in raised.value.__notes__
        } == {"127.0.0.2", "127.0.0.3"}
        reset(socks[5])
        stack.enter_context(connector.create_connection(server.address))


Found = list[tuple[int, int, int, str, tuple[str, int] | tuple[str, int, int, int]]]


def answer(monkeypatch: pytest.MonkeyPatch, found: Found) -> None:
    """Have every name resolve to these addresses."""

    def getaddrinfo(*_: object) -> Found:
        return found

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def test_all_errors_are_given_where_asked(
    connector: Connector, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: Found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", server.address),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9)),
    ]
    answer(monkeypatch, found)
    with ExitStack() as stack:
        fill(connector, server, stack)
        with pytest.raises(ExceptionGroup) as raised:
            connector.create_connection(("somewhere", 5000), all_errors=True)
        assert [type(error) for error in raised.value.exceptions] == [PortsExhausted, ConnectionRefusedError]


class TestNoSuchLocalAddress:
    """The false friend, which has the same errno."""

    def test_a_source_that_no_interface_has(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector(source="203.0.113.9")
        with pytest.raises(NoSuchLocalAddress, match=r"source address 203\.0\.113\.9 .*127\.0\.0\.1:5000") as raised:
            connector.create_connection(server.address)
        assert raised.value.errno == errno.EADDRNOTAVAIL
        assert raised.value.source == "203.0.113.9"
        assert not isinstance(raised.value, PortsExhausted)
        copy = pickle.loads(pickle.dumps(raised.value))
        assert (type(copy), str(copy), copy.errno) == (NoSuchLocalAddress, str(raised.value), errno.EADDRNOTAVAIL)

    def test_ipv6_off(self, connector: Connector) -> None:
        sysctl.write("net.ipv6.conf.all.disable_ipv6", 1)
        with pytest.raises(NoSuchLocalAddress, match=r"\[::1\]:5000.*disable_ipv6") as raised:
            connector.create_connection(("::1", 5000))
        assert raised.value.errno == errno.EADDRNOTAVAIL
        assert raised.value.source is None

    def test_ipv6_goes_off_and_comes_back(self, connector: Connector) -> None:
        with Server("::1") as server:
            reset(connector.create_connection(server.address))
            sysctl.write("net.ipv6.conf.all.disable_ipv6", 1)
            for _ in range(2):
                with pytest.raises(NoSuchLocalAddress):
                    connector.create_connection(server.address)
            # One port was tried, and nobody else is said to hold more.
            assert census(connector).foreign <= 1
            sysctl.write("net.ipv6.conf.all.disable_ipv6", 0)
            reset(connector.create_connection(server.address))

    def test_a_full_range_is_something_else(self, connector: Connector, server: Server) -> None:
        with ExitStack() as stack:
            fill(connector, server, stack)
            with pytest.raises(NoSuchLocalAddress):
                connector.create_connection(server.address, source="203.0.113.9")
            with pytest.raises(PortsExhausted):
                connector.create_connection(server.address, source="127.0.0.1")

    @pytest.mark.parametrize("strategy", Strategy)
    def test_localhost_falls_through_to_ipv4(
        self, new_connector: NewConnector, server: Server, strategy: Strategy, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sysctl.write("net.ipv6.conf.all.disable_ipv6", 1)
        localhost: Found = [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("::1", 5000, 0, 0)),
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 5000)),
        ]
        answer(monkeypatch, localhost)
        with new_connector(strategy=strategy).create_connection(("localhost", 5000)) as sock:
            assert sock.getpeername() == server.address
