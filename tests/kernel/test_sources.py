"""Source addresses: lists, networks, interfaces, prefixes that no interface has, and addresses bound by the program."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest

from fourtuple.errors import NoSuchLocalAddress, PortsExhausted
from fourtuple.linux import sysctl
from fourtuple.linux.netns import NetworkNamespace
from fourtuple.linux.sockopt import set_bind_address_no_port
from fourtuple.ports import Connector, Limits, Socket, Strategy
from fourtuple.ports.sources import Source
from kernel.links import HERE, THERE, add_local_prefix, ip, linked_namespaces
from kernel.servers import NewConnector, Server, census, counts, leased, port_of, reset

STRATEGIES = pytest.mark.parametrize("strategy", Strategy)


def source_of(sock: socket.socket) -> str:
    return sock.getsockname()[0]


def sources_used(connector: Connector, server: Server, count: int, source: Source = None) -> Counter[str]:
    """The source addresses of connections that are open at the same time."""
    with ExitStack() as stack:
        socks = [stack.enter_context(connector.create_connection(server.address, source=source)) for _ in range(count)]
        return Counter(source_of(sock) for sock in socks)


@STRATEGIES
@pytest.mark.parametrize(
    ("source", "addresses"),
    [
        ("127.0.0.9", ["127.0.0.9"]),
        (["127.0.0.2", "127.0.0.3", "127.0.0.4"], ["127.0.0.2", "127.0.0.3", "127.0.0.4"]),
        ("127.7.0.0/30", ["127.7.0.1", "127.7.0.2"]),
        (["127.0.0.2", "127.7.0.0/30"], ["127.0.0.2", "127.7.0.1", "127.7.0.2"]),
        ("dev:lo", ["127.0.0.1"]),
        (("127.0.0.2", "::1"), ["127.0.0.2"]),
        ("::ffff:127.0.0.5", ["127.0.0.5"]),
    ],
    ids=str,
)
def test_connections_spread_over_the_addresses(
    new_connector: NewConnector, server: Server, strategy: Strategy, source: Source, addresses: list[str]
) -> None:
    connector = new_connector(source=source, strategy=strategy)
    assert sources_used(connector, server, 4 * len(addresses)) == dict.fromkeys(addresses, 4)


@STRATEGIES
def test_ipv6_destinations_take_the_ipv6_addresses(new_connector: NewConnector, strategy: Strategy) -> None:
    for address in ("fd00::1/128", "fd00::2/128"):
        ip(f"-6 addr add {address} dev lo nodad")
    connector = new_connector(source=["127.0.0.2", "fd00::1", "fd00::2"], strategy=strategy)
    with Server("::1") as server:
        assert sources_used(connector, server, 6) == {"fd00::1": 3, "fd00::2": 3}


def test_the_emptiest_is_chosen(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector(source=["127.0.0.2", "127.0.0.3"])
    with ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(connector.create_connection(server.address, source="127.0.0.2"))
        used = Counter(source_of(stack.enter_context(connector.create_connection(server.address))) for _ in range(5))
        assert used == {"127.0.0.3": 5}


@pytest.mark.port_range(10000, 10009)
@STRATEGIES
def test_a_full_address_gives_way_to_the_next(new_connector: NewConnector, server: Server, strategy: Strategy) -> None:
    connector = new_connector(source=["127.0.0.2", "127.0.0.3"], strategy=strategy)
    with ExitStack() as stack:
        # Others hold all of the first, which our space of it, empty, cannot know.
        for _ in range(10):
            held = stack.enter_context(socket.socket())
            set_bind_address_no_port(held)
            held.bind(("127.0.0.2", 0))
            held.connect(server.address)
        for _ in range(10):
            assert source_of(stack.enter_context(connector.create_connection(server.address))) == "127.0.0.3"
        with pytest.raises(PortsExhausted):
            connector.create_connection(server.address)


@STRATEGIES
def test_a_source_for_one_call(new_connector: NewConnector, server: Server, strategy: Strategy) -> None:
    connector = new_connector(source="127.0.0.2", strategy=strategy)
    assert sources_used(connector, server, 1) == {"127.0.0.2": 1}
    assert sources_used(connector, server, 1, source="127.0.0.3") == {"127.0.0.3": 1}
    with connector.socket(source="127.0.0.4") as sock:
        sock.connect(server.address)
        assert source_of(sock) == "127.0.0.4"


@STRATEGIES
@pytest.mark.port_range(10000, 10009)
def test_a_source_address_with_port_0_is_the_address_alone(
    new_connector: NewConnector, server: Server, strategy: Strategy
) -> None:
    connector = new_connector(strategy=strategy)
    with ExitStack() as stack:
        socks = [
            stack.enter_context(connector.create_connection(server.address, source_address=("127.0.0.2", 0)))
            for _ in range(10)
        ]
        assert {sock.getsockname() for sock in socks} == {("127.0.0.2", port) for port in range(10000, 10010)}
        assert census(connector).leased == 10
        with pytest.raises(PortsExhausted):
            connector.create_connection(server.address, source_address=("127.0.0.2", 0))


@STRATEGIES
def test_a_source_address_with_a_port_is_the_callers_own_affair(
    new_connector: NewConnector, server: Server, strategy: Strategy
) -> None:
    connector = new_connector(strategy=strategy)
    with connector.create_connection(server.address, source_address=("127.0.0.2", 12345)) as sock:
        assert sock.getsockname() == ("127.0.0.2", 12345)
        assert leased(connector) == 0
        with pytest.raises(OSError, match="Address already in use"):
            connector.create_connection(server.address, source_address=("127.0.0.2", 12345))


@STRATEGIES
def test_any_address_leaves_the_choice_to_routing(
    new_connector: NewConnector, server: Server, strategy: Strategy
) -> None:
    connector = new_connector(source=["127.0.0.2"], strategy=strategy)
    with connector.create_connection(server.address, source_address=("", 0)) as sock:
        assert leased(connector) == 1
        assert source_of(sock) == "127.0.0.2"


def test_bind_without_a_port_takes_none(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector()
    with connector.socket() as sock:
        sock.bind(("127.0.0.2", 0))
        assert sock.getsockname() == ("127.0.0.2", 0)
        sock.connect(server.address)
        assert source_of(sock) == "127.0.0.2"
        assert counts(connector).leases == 1


class TestFreebind:
    """A whole prefix is routed to this machine, and no interface has any of its addresses."""

    @pytest.fixture(autouse=True)
    def prefix(self, netns: NetworkNamespace) -> None:
        add_local_prefix("2001:db8::/64")

    @STRATEGIES
    def test_a_prefix(self, new_connector: NewConnector, strategy: Strategy) -> None:
        connector = new_connector(source="2001:db8::/64", freebind=True, strategy=strategy)
        with Server("::1") as server:
            used = sources_used(connector, server, 20)
        assert len(used) == 20
        assert all(address.startswith("2001:db8:") for address in used)

    def test_without_freebind_it_is_a_named_error(self, new_connector: NewConnector) -> None:
        # Local by route, so bind() takes it even so on some kernels; an address that is not is refused by all.
        connector = new_connector(source="2001:db8:1::7")
        with Server("::1") as server, pytest.raises(NoSuchLocalAddress, match="freebind"):
            connector.create_connection(server.address)

    def test_an_ipv4_address(self, new_connector: NewConnector, server: Server) -> None:
        ip("route add local 203.0.113.0/24 dev lo")
        connector = new_connector(source="203.0.113.7", freebind=True)
        assert sources_used(connector, server, 1) == {"203.0.113.7": 1}


class TestOverACable:
    @pytest.fixture
    def cable(self, new_connector: NewConnector) -> Generator[Callable[[str], Server], None, None]:
        """Starts servers at the other end."""
        with linked_namespaces((10000, 29999)) as (_, there), ExitStack() as stack:

            def serve(host: str) -> Server:
                with there.enter():
                    return stack.enter_context(Server(host))

            yield serve

    @STRATEGIES
    def test_the_addresses_of_an_interface(
        self, new_connector: NewConnector, cable: Callable[[str], Server], strategy: Strategy
    ) -> None:
        ip("addr add 10.77.0.5/24 dev veth0")
        connector = new_connector(source="dev:veth0", strategy=strategy)
        assert sources_used(connector, cable(THERE[4]), 4) == {HERE[4]: 2, "10.77.0.5": 2}
        assert sources_used(connector, cable(THERE[6]), 2) == {HERE[6]: 2}

    def test_routing_decides_by_default(self, new_connector: NewConnector, cable: Callable[[str], Server]) -> None:
        connector = new_connector()
        for family in (4, 6):
            assert sources_used(connector, cable(THERE[family]), 1) == {HERE[family]: 1}
        assert {space.source for space in connector.statistics().spaces} == {HERE[4], HERE[6]}

    @pytest.mark.parametrize("by_name", [True, False], ids=["by name", "by index"])
    @STRATEGIES
    def test_a_link_local_source_has_a_zone(
        self, new_connector: NewConnector, cable: Callable[[str], Server], strategy: Strategy, by_name: bool
    ) -> None:
        ip("-6 addr add fe80::77:1/64 dev veth0 nodad")
        zone = "veth0" if by_name else str(socket.if_nametoindex("veth0"))
        connector = new_connector(source=f"fe80::77:1%{zone}", strategy=strategy)
        assert sources_used(connector, cable(THERE[6]), 2) == {"fe80::77:1": 2}


BAD: list[tuple[Source, str]] = [
    ("nowhere", "'nowhere' is no address, no network .* and no interface"),
    ("127.0.0.256", "no address"),
    ("127.0.0.1:80", "no address"),
    ("10.0.0.0/33", "no address"),
    ("dev:nothing", "'nothing'.* lo"),
    ([], "empty"),
    ("", "no address"),
    ("224.0.0.0/4", "unicast"),
    ("10.1.2.0/24", "no address of this machine"),
]


@pytest.mark.parametrize(("source", "text"), BAD, ids=[repr(source) for source, _ in BAD])
class TestBadSource:
    def test_of_a_connector(self, new_connector: NewConnector, source: Source, text: str) -> None:
        with pytest.raises(ValueError, match=f"^source: .*{text}"):
            new_connector(source=source)

    def test_of_a_call(self, connector: Connector, server: Server, source: Source, text: str) -> None:
        with pytest.raises(ValueError, match=f"^source: .*{text}"):
            connector.create_connection(server.address, source=source)
        with pytest.raises(ValueError, match=f"^source: .*{text}"):
            connector.socket(source=source)


def test_source_and_source_address_exclude_each_other(connector: Connector, server: Server) -> None:
    with pytest.raises(ValueError, match=r"^source, source_address: "):
        connector.create_connection(server.address, source_address=("127.0.0.2", 0), source="127.0.0.2")


@pytest.mark.parametrize("strategy", ["range", "bind"])
def test_a_source_of_the_other_family_is_not_ignored(new_connector: NewConnector, strategy: str) -> None:
    # Who names the addresses to come from wants no other to be seen.
    connector = new_connector(source="127.0.0.2", strategy=strategy)
    with Server("::1") as server, pytest.raises(NoSuchLocalAddress, match="of the other family"):
        connector.create_connection(server.address)


def test_an_address_that_goes_and_comes_back(new_connector: NewConnector, server: Server) -> None:
    ip("addr add 10.9.9.9/32 dev lo")
    connector = new_connector(source="10.9.9.9")
    reset(connector.create_connection(server.address))
    ip("addr del 10.9.9.9/32 dev lo")
    with pytest.raises(NoSuchLocalAddress):
        connector.create_connection(server.address)
    ip("addr add 10.9.9.9/32 dev lo")
    reset(connector.create_connection(server.address))


def test_many_addresses_used_once_each_are_not_kept_for_ever(new_connector: NewConnector, server: Server) -> None:
    # A crawler that comes from another address each time.
    sysctl.write("net.ipv4.ip_local_port_range", "10000 10099")
    connector = new_connector(limits=Limits(spaces=64))
    for number in range(1000):
        sock: Socket = connector.create_connection(server.address, source=f"127.1.{number // 250}.{number % 250 + 1}")
        assert port_of(sock)
        reset(sock)
    assert len(connector.statistics().spaces) <= 64
    assert counts(connector).leases == 1000
