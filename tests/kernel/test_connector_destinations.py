"""Thousands of destinations, and a process that is out of descriptors or UDP ports."""

from __future__ import annotations

import errno
import resource
import socket
import tracemalloc
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from fourtuple.linux import sysctl
from fourtuple.ports import Connector, Limits
from kernel.servers import PORT, Clock, NewConnector, Server, census, close_after_peer, counts, leased, port_of, reset


def host(number: int) -> str:
    return f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


@pytest.fixture
def everywhere(new_connector: NewConnector) -> Generator[Server, None, None]:
    """A server on every address of 127.0.0.0/8."""
    with Server("0.0.0.0") as server:
        yield server


class TestLimitOfSpaces:
    def test_idle_spaces_are_dropped(self, new_connector: NewConnector, everywhere: Server) -> None:
        connector = new_connector(limits=Limits(spaces=16))
        for number in range(1, 500):
            reset(connector.create_connection((host(number), PORT)), everywhere.accept())
            assert len(connector.statistics().spaces) <= 16
        # Dropped, they still count.
        assert counts(connector).leases == 499

    def test_spaces_used_once_become_idle(self, new_connector: NewConnector, clock: Clock, everywhere: Server) -> None:
        # Each connection leaves a port cooling, and nobody comes back to look at it.
        connector = new_connector(clock=clock, limits=Limits(spaces=16))
        for number in range(1, 500):
            connector.create_connection((host(number), PORT)).close()
            everywhere.accept().close()
            clock.turn(5)
        assert len(connector.statistics().spaces) <= 32

    def test_spaces_in_use_are_kept(self, new_connector: NewConnector, everywhere: Server) -> None:
        connector = new_connector(limits=Limits(spaces=16))
        with ExitStack() as stack:
            for number in range(1, 200):
                stack.enter_context(connector.create_connection((host(number), PORT)))
            assert len(connector.statistics().spaces) == leased(connector) == 199

    def test_past_the_limit_destinations_are_still_remembered(
        self, new_connector: NewConnector, everywhere: Server
    ) -> None:
        # A look through all spaces that frees nothing must not be repeated for each connection.
        connector = new_connector(limits=Limits(spaces=16))
        registry = connector.registry
        with ExitStack() as stack:
            numbers = range(1, 200)
            for number in numbers:
                stack.enter_context(connector.create_connection((host(number), PORT)))
            seen = [
                [registry.destination(socket.AF_INET, (host(number), PORT), registry.sources) for number in numbers]
                for _ in range(2)
            ]
            assert all(one is other for one, other in zip(*seen, strict=True))

    def test_one_space_is_enough_to_work(self, new_connector: NewConnector, everywhere: Server) -> None:
        connector = new_connector(limits=Limits(spaces=1))
        with ExitStack() as stack:
            for number in range(1, 50):
                stack.enter_context(connector.create_connection((host(number), PORT)))
                reset(connector.create_connection((host(number), PORT)))
            assert leased(connector) == 49

    def test_sources_used_once_are_forgotten(self, new_connector: NewConnector, everywhere: Server) -> None:
        # As of a crawler that comes from another address each time.
        connector = new_connector(limits=Limits(spaces=16))

        def crawl(first: int) -> None:
            for number in range(first, first + 300):
                reset(connector.create_connection(everywhere.address, source=host(number)), everywhere.accept())

        crawl(1)
        tracemalloc.start()
        try:
            crawl(1000)
            before, _ = tracemalloc.get_traced_memory()
            crawl(2000)
            after, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # All 300, kept, are more than 100 kB.
        assert after - before < 30_000

    @pytest.mark.parametrize("bound", [{"tries": 0}, {"spaces": 0}, {"ports": 0}, {"ports": -5}])
    def test_a_bound_that_is_none_is_named(self, bound: dict[str, int]) -> None:
        ((name, value),) = bound.items()
        with pytest.raises(ValueError, match=f"^Limits.{name} must be 1 or more, not {value}"):
            Limits(**bound)


def test_many_short_connections(connector: Connector, server: Server) -> None:
    # The peer closes first, so the ports go round, and none is refused although each comes back at once.
    for _ in range(3000):
        close_after_peer(connector.create_connection(server.address), server.accept())
    assert census(connector) == (20000, 0, 0, 0, 0)
    assert counts(connector).refused == 0


@contextmanager
def descriptors_up_to(limit: int) -> Generator[None, None, None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class TestOutOfDescriptors:
    @pytest.mark.parametrize("strategy", ["range", "bind", "kernel"])
    def test_no_socket_is_a_named_error(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with ExitStack() as stack:
            last = stack.enter_context(connector.create_connection(server.address))
            with descriptors_up_to(last.fileno() + 1):
                for _ in range(3):
                    with pytest.raises(OSError, match="Too many open files") as raised:
                        connector.create_connection(server.address)
                    assert raised.value.errno == errno.EMFILE
            assert leased(connector) == 1
            stack.enter_context(connector.create_connection(server.address))

    @pytest.mark.parametrize("strategy", ["range", "kernel"])
    def test_the_last_descriptor_connects(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        reset(connector.create_connection(server.address))
        with connector.socket() as sock, descriptors_up_to(sock.fileno() + 1):
            sock.connect(server.address)
            assert leased(connector) == 1

    def test_when_the_settings_are_due_for_a_look(self, connector: Connector, clock: Clock, server: Server) -> None:
        reset(connector.create_connection(server.address))
        clock.turn(5)
        with connector.socket() as sock, descriptors_up_to(sock.fileno() + 1):
            sock.connect(server.address)
            assert leased(connector) == 1

    def test_when_the_range_has_changed(self, connector: Connector, server: Server) -> None:
        reset(connector.create_connection(server.address))
        sysctl.write("net.ipv4.ip_local_port_range", "30000 30099")
        with connector.socket() as sock, descriptors_up_to(sock.fileno() + 1):
            sock.connect(server.address)
            assert 30000 <= port_of(sock) <= 30099

    def test_to_a_destination_not_seen_before(self, connector: Connector, everywhere: Server) -> None:
        reset(connector.create_connection(("127.0.0.1", PORT)))
        with connector.socket() as sock, descriptors_up_to(sock.fileno() + 1):
            sock.connect(("127.0.0.2", PORT))
            assert leased(connector) == 1

    def test_before_anything_is_known(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector()
        with connector.socket() as sock, descriptors_up_to(sock.fileno() + 1):
            sock.connect(server.address)
            assert sock.getpeername() == server.address


@pytest.mark.port_range(10000, 10049)
@pytest.mark.parametrize("strategy", ["range", "bind", "kernel"])
def test_udp_ports_do_not_matter(new_connector: NewConnector, server: Server, strategy: str) -> None:
    # Routing is asked with a UDP socket, which needs a port itself.
    connector = new_connector(strategy=strategy)
    with ExitStack() as stack:
        for port in range(10000, 10050):
            stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)).bind(("", port))
        socks = [stack.enter_context(connector.create_connection(server.address)) for _ in range(50)]
        assert {port_of(sock) for sock in socks} == set(range(10000, 10050))
        assert leased(connector) == 50
        with pytest.raises(OSError, match=r"no source port left from this machine to 127\.0\.0\.1:5000") as raised:
            connector.create_connection(server.address)
        assert raised.value.errno == errno.EADDRNOTAVAIL
