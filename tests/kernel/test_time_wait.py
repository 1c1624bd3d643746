"""Who closed first: the space's state against the kernel's own table, and when a port in TIME_WAIT comes back."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from fourtuple.errors import PortsExhausted
from fourtuple.linux import sysctl, tcp_info
from fourtuple.linux.netns import NetworkNamespace, network_namespace
from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports import Connector, Socket
from kernel.links import HERE, THERE, ip, linked_namespaces
from kernel.servers import (
    PATIENCE,
    PORT,
    Clock,
    NewConnector,
    Server,
    census,
    close_after_peer,
    counts,
    port_of,
    reset,
    states_towards,
    until,
)

Closing = Callable[[Socket, socket.socket], None]
"""Closes both ends of a connection: ours, and the server's."""


def wait_readable(sock: socket.socket) -> None:
    assert select.select([sock], [], [], PATIENCE)[0]


def we_first(ours: Socket, theirs: socket.socket) -> None:
    ours.close()
    assert theirs.recv(1) == b""
    theirs.close()


def peer_first(ours: Socket, theirs: socket.socket) -> None:
    close_after_peer(ours, theirs)


def peer_first_with_its_last_words_read(ours: Socket, theirs: socket.socket) -> None:
    theirs.sendall(b"bye")
    theirs.close()
    assert ours.makefile("rb").read() == b"bye"
    ours.close()


def reset_by_us(ours: Socket, theirs: socket.socket) -> None:
    reset(ours)
    with pytest.raises(ConnectionResetError):
        theirs.recv(1)
    theirs.close()


def reset_by_the_peer(ours: Socket, theirs: socket.socket) -> None:
    reset(theirs)
    wait_readable(ours)
    ours.close()


def reset_by_the_peer_and_read(ours: Socket, theirs: socket.socket) -> None:
    reset(theirs)
    with pytest.raises(ConnectionResetError):
        ours.recv(1)
    ours.close()


def reset_by_the_peer_when_we_read_no_further(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_RD)
    reset(theirs)
    until(lambda: tcp_info.read(ours).state is TcpState.CLOSE)
    ours.close()


def data_left_unread(ours: Socket, theirs: socket.socket) -> None:
    theirs.sendall(b"never read")
    wait_readable(ours)
    ours.close()
    theirs.close()


def data_partly_read(ours: Socket, theirs: socket.socket) -> None:
    theirs.sendall(b"partly read")
    assert ours.recv(6) == b"partly"
    ours.close()
    theirs.close()


def we_shut_down_first(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_WR)
    assert theirs.recv(1) == b""
    theirs.sendall(b"answer")
    theirs.close()
    assert ours.makefile("rb").read() == b"answer"
    ours.close()


def we_shut_down_both_ways_first(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_RDWR)
    assert theirs.recv(1) == b""
    theirs.close()
    until(lambda: tcp_info.read(ours).state is TcpState.CLOSE)
    ours.close()


def we_shut_down_first_and_close_first(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_WR)
    ours.close()
    assert theirs.recv(1) == b""
    theirs.close()


def we_shut_down_twice(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_WR)
    assert theirs.recv(1) == b""
    theirs.close()
    assert ours.recv(1) == b""
    with pytest.raises(OSError, match="not connected"):
        ours.shutdown(socket.SHUT_RDWR)
    ours.close()


def we_shut_down_reading_only(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_RD)
    we_first(ours, theirs)


def peer_shuts_down_first(ours: Socket, theirs: socket.socket) -> None:
    theirs.shutdown(socket.SHUT_WR)
    assert ours.recv(1) == b""
    ours.sendall(b"answer")
    ours.shutdown(socket.SHUT_WR)
    assert theirs.makefile("rb").read() == b"answer"
    theirs.close()
    ours.close()


def peer_shuts_down_first_and_we_read_no_further(ours: Socket, theirs: socket.socket) -> None:
    ours.shutdown(socket.SHUT_RD)
    theirs.shutdown(socket.SHUT_WR)
    until(lambda: tcp_info.read(ours).state is TcpState.CLOSE_WAIT)
    ours.close()
    theirs.close()


def a_file_outlives_the_socket(ours: Socket, theirs: socket.socket) -> None:
    file = ours.makefile("rb")
    ours.close()
    theirs.sendall(b"still here")
    assert file.read(10) == b"still here"
    file.close()
    assert theirs.recv(1) == b""
    theirs.close()


COOLING: list[Closing] = [
    we_first,
    we_shut_down_first,
    we_shut_down_both_ways_first,
    we_shut_down_first_and_close_first,
    we_shut_down_twice,
    we_shut_down_reading_only,
    a_file_outlives_the_socket,
]
FREE: list[Closing] = [
    peer_first,
    peer_first_with_its_last_words_read,
    peer_shuts_down_first,
    peer_shuts_down_first_and_we_read_no_further,
    reset_by_us,
    reset_by_the_peer,
    reset_by_the_peer_and_read,
    reset_by_the_peer_when_we_read_no_further,
    data_left_unread,
    data_partly_read,
]


def settled(port: int) -> TcpState | None:
    """What the kernel has of our end once everything has been acknowledged."""
    until(lambda: states_towards().get(port) in (None, TcpState.TIME_WAIT))
    return states_towards().get(port)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize(
    ("closing", "kept"),
    [*((closing, True) for closing in COOLING), *((closing, False) for closing in FREE)],
    ids=lambda value: value.__name__ if callable(value) else "cooling" if value else "free",
)
def test_the_space_agrees_with_the_kernel(connector: Connector, host: str, closing: Closing, kept: bool) -> None:
    with Server(host) as server:
        ours = connector.create_connection(server.address)
        theirs = server.accept()
        port = port_of(ours)
        closing(ours, theirs)
        assert (settled(port) is TcpState.TIME_WAIT) is kept
        assert census(connector) == (20000 - kept, 0, kept, 0, 0)


def test_while_the_peer_has_not_closed_the_port_cools(connector: Connector, server: Server) -> None:
    ours = connector.create_connection(server.address)
    port = port_of(ours)
    with server.accept() as theirs:
        ours.close()
        assert theirs.recv(1) == b""
        until(lambda: states_towards()[port] is TcpState.FIN_WAIT2)
        assert census(connector).cooling == 1


@pytest.mark.port_range(10000, 10000)
def test_the_port_cools_once_more_when_the_kernel_refuses_it_in_fin_wait2(
    connector: Connector, server: Server, clock: Clock
) -> None:
    ours = connector.create_connection(server.address)
    with server.accept():
        ours.close()
        until(lambda: [*states_towards().values()] == [TcpState.FIN_WAIT2])
        for rest, census_then in ((5, (0, 0, 1, 0, 0)), (60, (0, 0, 0, 1, 0))):
            clock.turn(rest)
            with pytest.raises(PortsExhausted):
                connector.create_connection(server.address)
            assert census(connector) == census_then


def test_a_connection_nobody_accepted(connector: Connector) -> None:
    with Server() as server:
        connector.create_connection(server.address).close()
        assert census(connector).cooling == 1


def test_a_file_keeps_the_port_until_it_is_closed(connector: Connector, server: Server) -> None:
    ours = connector.create_connection(server.address)
    with server.accept(), ours.makefile("rb") as reader, ours.makefile("wb") as writer:
        ours.close()
        reader.close()
        assert census(connector).leased == 1
        writer.close()
        assert census(connector).leased == 0


def test_a_socket_that_never_connected_returns_nothing(connector: Connector, server: Server) -> None:
    connector.socket().close()
    with connector.socket() as sock:
        sock.connect(server.address)
    assert census(connector).cooling == 1


@contextmanager
def peer_unreachable(there: NetworkNamespace) -> Generator[None, None, None]:
    """What we send is lost for the time being; what the peer sends arrives."""
    ip(f"route add blackhole {THERE[4]}/32")
    try:
        yield
    finally:
        ip(f"route del blackhole {THERE[4]}/32")


def test_both_close_at_once(new_connector: NewConnector, clock: Clock) -> None:
    with linked_namespaces((10000, 29999)) as (_, there):
        connector = new_connector(clock=clock)
        with there.enter():
            server = Server(THERE[4])
        with server:
            ours = connector.create_connection(server.address)
            port = port_of(ours)
            with server.accept() as theirs:
                with peer_unreachable(there):
                    ours.shutdown(socket.SHUT_WR)
                    assert tcp_info.read(ours).state is TcpState.FIN_WAIT1
                    theirs.shutdown(socket.SHUT_WR)
                    until(lambda: tcp_info.read(ours).state is TcpState.CLOSING)
                    ours.close()
                # The FIN is sent again, and both ends go through TIME_WAIT.
                assert settled(port) is TcpState.TIME_WAIT
                assert census(connector) == (19999, 0, 1, 0, 0)


class Net:
    """Where a client and a server talk, and what to call it."""

    def __init__(self, connector: Connector, server: Server, clock: Clock) -> None:
        self.connector = connector
        self.server = server
        self.clock = clock

    def leave_time_wait(self) -> int:
        """Connect and close first; the port."""
        ours = self.connector.create_connection(self.server.address)
        port = port_of(ours)
        with self.server.accept() as theirs:
            we_first(ours, theirs)
        assert settled(port) is TcpState.TIME_WAIT
        return port

    def next_free(self) -> float | None:
        """Seconds until the error says a port frees."""
        with pytest.raises(PortsExhausted) as raised:
            self.connector.create_connection(self.server.address)
        return raised.value.shortage.next_free

    def kernel_agrees_to_reuse(self) -> bool:
        """One more try; what a refusal left is over by the clock."""
        self.clock.turn(64)
        try:
            sock = self.connector.create_connection(self.server.address)
        except PortsExhausted:
            return False
        reset(sock, self.server.accept())
        return True


@pytest.fixture(params=["loopback", "veth"])
def one_port(
    request: pytest.FixtureRequest, new_connector: NewConnector, clock: Clock
) -> Generator[tuple[str, Net], None, None]:
    """A range of a single port, so that the next connection has to take over what the last left behind."""
    if request.param == "loopback":
        with network_namespace(port_range=(10000, 10000)), Server() as server:
            yield request.param, Net(new_connector(clock=clock), server, clock)
    else:
        with linked_namespaces((10000, 10000)) as (_, there):
            with there.enter():
                server = Server(THERE[4])
            with server:
                yield request.param, Net(new_connector(clock=clock), server, clock)


@pytest.mark.parametrize("timestamps", [0, 1], ids=["no-timestamps", "timestamps"])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_the_port_comes_back_when_the_kernel_allows(one_port: tuple[str, Net], mode: int, timestamps: int) -> None:
    where, net = one_port
    sysctl.write("net.ipv4.tcp_tw_reuse", mode)
    sysctl.write("net.ipv4.tcp_timestamps", timestamps)
    if sysctl.exists("net.ipv4.tcp_tw_reuse_delay"):
        sysctl.write("net.ipv4.tcp_tw_reuse_delay", 5000)
    reusable = timestamps == 1 and (mode == 1 or (mode == 2 and where == "loopback"))
    assert net.leave_time_wait() == 10000
    delay = net.next_free()
    assert delay is not None
    if reusable:
        expected = 5.05 if sysctl.tcp_tw_reuse_delay() else 2.05
        assert delay == pytest.approx(expected)
    else:
        assert delay == pytest.approx(60)
    # Not a moment sooner.
    net.clock.turn(delay - 0.01)
    assert net.next_free() == pytest.approx(0.01)
    assert counts(net.connector).refused == 0
    # When it is proposed the kernel, whose time is real, still refuses, and is asked once.
    net.clock.turn(0.01)
    assert net.next_free() == pytest.approx(60)
    assert counts(net.connector).refused == 1
    assert census(net.connector) == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("mode", [1, 2])
def test_the_kernel_agrees_after_its_delay(one_port: tuple[str, Net], mode: int) -> None:
    where, net = one_port
    sysctl.write("net.ipv4.tcp_tw_reuse", mode)
    if sysctl.exists("net.ipv4.tcp_tw_reuse_delay"):
        sysctl.write("net.ipv4.tcp_tw_reuse_delay", 1)
    net.leave_time_wait()
    if mode == 2 and where == "veth":
        assert not net.kernel_agrees_to_reuse()
    else:
        until(net.kernel_agrees_to_reuse)


def test_a_bound_port_is_reused_at_once(server: Server, new_connector: NewConnector, clock: Clock) -> None:
    sysctl.write("net.ipv4.ip_local_port_range", "10000 10000")
    sysctl.write("net.ipv4.tcp_tw_reuse", 0)
    net = Net(new_connector(clock=clock, strategy="bind"), server, clock)
    for _ in range(3):
        assert net.leave_time_wait() == 10000
    assert counts(net.connector).refused == 0


def test_a_bound_port_without_timestamps_is_not(server: Server, new_connector: NewConnector, clock: Clock) -> None:
    sysctl.write("net.ipv4.ip_local_port_range", "10000 10000")
    sysctl.write("net.ipv4.tcp_timestamps", 0)
    net = Net(new_connector(clock=clock, strategy="bind"), server, clock)
    net.leave_time_wait()
    assert net.next_free() == pytest.approx(60)


@pytest.mark.port_range(10000, 10000)
def test_timestamps_are_those_of_the_connection(server: Server, connector: Connector, clock: Clock) -> None:
    # The setting was on when the space last looked and is on again, and the TIME_WAIT lasts the whole minute.
    net = Net(connector, server, clock)
    reset(connector.create_connection(server.address), server.accept())
    sysctl.write("net.ipv4.tcp_timestamps", 0)
    ours = connector.create_connection(server.address)
    sysctl.write("net.ipv4.tcp_timestamps", 1)
    with server.accept() as theirs:
        we_first(ours, theirs)
    assert net.next_free() == pytest.approx(60)


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("net.ipv4.tcp_tw_reuse", 0, r"set net\.ipv4\.tcp_tw_reuse=1 \(now 0\)"),
        ("net.ipv4.tcp_timestamps", 0, r"set net\.ipv4\.tcp_timestamps=1"),
        ("net.ipv4.tcp_tw_reuse", 1, r"let the other end close first"),
    ],
)
@pytest.mark.port_range(10000, 10009)
def test_time_wait_everywhere_is_named_with_its_remedy(
    server: Server, connector: Connector, setting: str, value: int, remedy: str
) -> None:
    sysctl.write(setting, value)
    for _ in range(10):
        ours = connector.create_connection(server.address)
        with server.accept() as theirs:
            we_first(ours, theirs)
    with pytest.raises(PortsExhausted, match=f"10 cooling.* 1\\) {remedy}"):
        connector.create_connection(server.address)
    until(lambda: [*states_towards().values()] == [TcpState.TIME_WAIT] * 10)


@pytest.mark.port_range(10000, 10000)
def test_turning_reuse_on_helps_ports_that_wait_already(server: Server, connector: Connector, clock: Clock) -> None:
    sysctl.write("net.ipv4.tcp_tw_reuse", 0)
    if sysctl.exists("net.ipv4.tcp_tw_reuse_delay"):
        sysctl.write("net.ipv4.tcp_tw_reuse_delay", 1)
    Net(connector, server, clock).leave_time_wait()
    sysctl.write("net.ipv4.tcp_tw_reuse", 1)

    def reused() -> bool:
        try:
            reset(connector.create_connection(server.address))
        except PortsExhausted:
            return False
        return True

    # The space waits for the minute that it was told at first; the kernel, asked when nothing is left, knows better.
    until(reused)
    assert counts(connector).kernel_choices == 1


def test_addresses_beside_loopback_wait_for_the_minute(new_connector: NewConnector, clock: Clock) -> None:
    # A machine that talks to itself over another address is not on loopback by the kernel's rule for mode 2.
    with linked_namespaces((10000, 10000)), Server(HERE[4], PORT) as server:
        net = Net(new_connector(clock=clock), server, clock)
        net.leave_time_wait()
        assert net.next_free() == pytest.approx(60)
