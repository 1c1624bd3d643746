"""The port range and the reserved ports, also as they change under a running connector."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from fourtuple.errors import PortsExhausted
from fourtuple.linux import sysctl
from fourtuple.ports import Connector, Strategy
from kernel.servers import Clock, NewConnector, Server, census, counts, fill, leased, port_of, reset

NOTICED_AFTER = 1.0
"""Seconds within which a change is followed."""


def set_range(low: int, high: int) -> None:
    sysctl.write("net.ipv4.ip_local_port_range", f"{low} {high}")


def reserve(ports: str) -> None:
    sysctl.write("net.ipv4.ip_local_reserved_ports", ports)


def connect_until_full(connector: Connector, server: Server, stack: ExitStack) -> list[int]:
    return sorted(map(port_of, fill(connector, server, stack)))


@pytest.mark.port_range(10000, 10049)
@pytest.mark.parametrize("strategy", ["range", "kernel"])
@pytest.mark.parametrize(
    ("low", "high"),
    [(10010, 10029), (20000, 20049), (10040, 10089), (10000, 10099), (9000, 10099), (10007, 10007)],
    ids=["narrowed", "moved", "moved-and-overlapping", "widened", "widened-downwards", "narrowed-to-one-port"],
)
class TestRangeThatChanges:
    def test_every_port_of_the_new_range_is_used_and_no_other(
        self, new_connector: NewConnector, clock: Clock, server: Server, strategy: str, low: int, high: int
    ) -> None:
        connector = new_connector(clock=clock, strategy=strategy)
        with ExitStack() as stack:
            old = [stack.enter_context(connector.create_connection(server.address)) for _ in range(20)]
            kept = {port_of(sock) for sock in old}
            set_range(low, high)
            clock.turn(NOTICED_AFTER)
            ports = connect_until_full(connector, server, stack)
            assert ports == [port for port in range(low, high + 1) if port not in kept]
            (space,) = connector.statistics().spaces
            assert (space.low, space.high) == (low, high)
            inside = sum(low <= port <= high for port in kept)
            assert space.ports == (0, len(ports) + inside, 0, 0, 0)
            # Ports outside the new range come back to nobody, those inside to the space.
            reset(*old)
            assert leased(connector) == len(ports)

    def test_before_it_is_noticed_the_kernel_decides(
        self, new_connector: NewConnector, clock: Clock, server: Server, strategy: str, low: int, high: int
    ) -> None:
        connector = new_connector(clock=clock, strategy=strategy)
        with ExitStack() as stack:
            stack.enter_context(connector.create_connection(server.address))
            set_range(low, high)
            for _ in range(min(10, high - low)):
                sock = stack.enter_context(connector.create_connection(server.address))
                assert low <= port_of(sock) <= high
            # Once at most: the first port that turns out to be elsewhere is reason to look.
            assert counts(connector).outside <= 1


@pytest.mark.port_range(10000, 10019)
def test_a_port_chosen_by_the_kernel_is_verified(connector: Connector, server: Server) -> None:
    reset(connector.create_connection(server.address))
    set_range(20000, 20019)
    with connector.create_connection(server.address) as sock:
        assert 20000 <= port_of(sock) <= 20019
        assert counts(connector).outside == 1
        (space,) = connector.statistics().spaces
        assert (space.low, space.high, space.ports.leased) == (20000, 20019, 1)


@pytest.mark.port_range(10000, 10019)
def test_a_full_range_that_is_widened_serves_within_a_second(
    connector: Connector, clock: Clock, server: Server
) -> None:
    with ExitStack() as stack:
        assert connect_until_full(connector, server, stack) == list(range(10000, 10020))
        set_range(10000, 10039)
        # The kernel finds the new ports before we look.
        early = stack.enter_context(connector.create_connection(server.address))
        assert port_of(early) in range(10020, 10040)
        clock.turn(NOTICED_AFTER)
        choices = counts(connector).kernel_choices
        socks = [stack.enter_context(connector.create_connection(server.address)) for _ in range(18)]
        assert {port_of(sock) for sock in socks} < set(range(10020, 10040))
        assert counts(connector).kernel_choices == choices


@pytest.mark.port_range(10000, 10099)
@pytest.mark.parametrize("strategy", ["range", "kernel"])
class TestReservedPorts:
    def test_most_of_the_range_is_reserved(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        reserve("10000-10044,10055-10099")
        connector = new_connector(strategy=strategy)
        with ExitStack() as stack:
            assert connect_until_full(connector, server, stack) == list(range(10045, 10055))
            assert census(connector) == (0, 10, 0, 0, 90)
            assert counts(connector).refused == 0
            with pytest.raises(PortsExhausted, match=r"90 reserved.*ip_local_reserved_ports"):
                connector.create_connection(server.address)

    def test_all_of_it(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        reserve("10000-10099")
        with pytest.raises(PortsExhausted, match="100 reserved"):
            new_connector(strategy=strategy).create_connection(server.address)

    def test_ports_reserved_while_running(
        self, new_connector: NewConnector, clock: Clock, server: Server, strategy: str
    ) -> None:
        connector = new_connector(clock=clock, strategy=strategy)
        with ExitStack() as stack:
            old = [stack.enter_context(connector.create_connection(server.address)) for _ in range(5)]
            reserve("10010-10099")
            clock.turn(NOTICED_AFTER)
            free = sorted(set(range(10000, 10010)) - {port_of(sock) for sock in old})
            assert connect_until_full(connector, server, stack) == free
            assert counts(connector).refused == 0
            # What is in use is not disturbed, and never proposed again.
            reset(*(sock for sock in old if port_of(sock) >= 10010))
            with pytest.raises(PortsExhausted):
                connector.create_connection(server.address)

    def test_before_it_is_noticed_no_reserved_port_is_used(
        self, new_connector: NewConnector, clock: Clock, server: Server, strategy: str
    ) -> None:
        connector = new_connector(clock=clock, strategy=strategy)
        reset(connector.create_connection(server.address))
        reserve("10000-10089")
        with ExitStack() as stack:
            for _ in range(10):
                sock = stack.enter_context(connector.create_connection(server.address))
                assert port_of(sock) >= 10090

    def test_reserved_ports_are_given_back(
        self, new_connector: NewConnector, clock: Clock, server: Server, strategy: str
    ) -> None:
        reserve("10010-10099")
        connector = new_connector(clock=clock, strategy=strategy)
        with ExitStack() as stack:
            assert len(connect_until_full(connector, server, stack)) == 10
            reserve("")
            clock.turn(NOTICED_AFTER)
            assert connect_until_full(connector, server, stack) == list(range(10010, 10100))


@pytest.mark.port_range(10000, 29999)
@pytest.mark.parametrize("strategy", Strategy)
def test_a_long_list_of_single_ports(new_connector: NewConnector, server: Server, strategy: Strategy) -> None:
    # 10,000 items, 60 kB: one page of the file is a small part of it.
    reserve(",".join(str(port) for port in range(10000, 30000, 2)))
    connector = new_connector(strategy=strategy)
    with ExitStack() as stack:
        for _ in range(300):
            sock = stack.enter_context(connector.create_connection(server.address))
            assert port_of(sock) % 2 == 1
        assert census(connector) == (9700, 300, 0, 0, 10000)
        assert counts(connector).refused == 0


@pytest.mark.parametrize("strategy", Strategy)
def test_a_range_of_one_port(new_connector: NewConnector, server: Server, strategy: Strategy) -> None:
    set_range(20000, 20000)
    connector = new_connector(strategy=strategy)
    for _ in range(3):
        with ExitStack() as stack:
            assert connect_until_full(connector, server, stack) == [20000]
            sock = stack.pop_all()
            reset(server.accept())
            sock.close()
