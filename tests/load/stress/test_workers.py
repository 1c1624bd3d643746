"""The stressors' loops, on a private loopback."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from fourtuple.linux import libc, sysctl
from fourtuple.linux.addresses import packed
from fourtuple.linux.netns import NetworkNamespace
from fourtuple.linux.sockopt import reset_on_close, set_port_range
from fourtuple.load.engine.lanes import Lane
from fourtuple.load.stress import client, dumper, server
from fourtuple.load.stress.cells import Cells, ClientCell, DumperCell, ServerCell, failures
from fourtuple.load.stress.client import ChoosingClient, Client
from fourtuple.load.stress.dumper import Dumper
from fourtuple.load.stress.server import Server
from fourtuple.load.stress.sockdiag import population
from fourtuple.ports.space import How, PortSpace
from load.stress import samples

# Ten ports, so that a round is ten connections.
pytestmark = [pytest.mark.kernel, pytest.mark.port_range(20000, 20009), pytest.mark.usefixtures("netns")]

ADDRESS = "127.0.0.1", 9000
PACKED = packed(socket.AF_INET, ADDRESS)


def figures(cells: Cells) -> tuple[int, int, int, int]:
    """Rounds, connections, and those held now and at most."""
    return (
        cells[ClientCell.ROUNDS],
        cells[ClientCell.CONNECTIONS],
        cells[ClientCell.HELD],
        cells[ClientCell.MOST_HELD],
    )


def second_round(under_test: Client, cells: Cells) -> None:
    """Have a second round of ten connections, or almost.

    The last of a round may be closed by the client first, and then its port rests for a while.
    """
    with serving(10):
        under_test.step()
        for _ in range(20 - cells[ClientCell.CONNECTIONS]):
            with socket.create_connection(ADDRESS) as connection:
                connection.recv(8)
    assert cells[ClientCell.ROUNDS] == 2
    assert 19 <= cells[ClientCell.CONNECTIONS] <= 20


@contextmanager
def serving(most: int, size: int = 8) -> Generator[Cells, None, None]:
    """A server in a thread, for ``most`` connections, which must all be made."""
    cells = samples.cells()
    with socket.create_server(ADDRESS) as listener:
        # A daemon: after a failure nobody may connect any more.
        thread = threading.Thread(target=Server(listener.fileno(), size, most, cells).run, daemon=True)
        thread.start()
        yield cells
        thread.join(30)
        assert not thread.is_alive()


class Rude:
    """A server that says nothing and closes, in its own way."""

    def __init__(self, *, reset: bool) -> None:
        self.listener = socket.create_server(ADDRESS)
        self.thread = threading.Thread(target=self._serve, args=[reset], daemon=True)
        self.thread.start()

    def _serve(self, reset: bool) -> None:
        accepted, _ = self.listener.accept()
        # First, for no further connection is to be begun.
        self.listener.close()
        if reset:
            reset_on_close(accepted)
        accepted.close()


def test_a_round_lasts_until_no_port_is_left_and_frees_them_all() -> None:
    cells = samples.cells()
    under_test = Client(PACKED, 8, cells)
    with serving(10) as served:
        under_test.step()
    assert figures(cells) == (1, 10, 0, 10)
    second_round(under_test, cells)
    assert failures([cells], client.FAILURES) == {"connect": {"EADDRNOTAVAIL": 2}}
    assert served[ServerCell.ACCEPTED] == 10
    assert failures([served], server.FAILURES) == {}


def test_the_client_receives_once_what_the_server_sends_at_once() -> None:
    cells = samples.cells()
    with serving(10, size=32768) as served:
        Client(PACKED, 32768, cells).step()
    assert figures(cells) == (1, 10, 0, 10)
    assert failures([served], server.FAILURES) == {}


def test_the_server_greets_and_closes_first() -> None:
    with serving(1, size=3), socket.create_connection(ADDRESS) as connection:
        assert connection.recv(100, socket.MSG_WAITALL) == b"AAA"


def test_a_round_ends_where_nobody_listens() -> None:
    cells = samples.cells()
    Client(PACKED, 8, cells).step()
    assert figures(cells) == (1, 0, 0, 0)
    assert failures([cells], client.FAILURES) == {"connect": {"ECONNREFUSED": 1}}


@pytest.mark.parametrize(
    ("reset", "expected"),
    [(True, {"recv": {"ECONNRESET": 1}}), (False, {"recv": {"closed": 1}, "connect": {"ECONNREFUSED": 1}})],
    ids=["reset", "closed"],
)
def test_a_connection_without_data_is_no_success(reset: bool, expected: dict[str, dict[str, int]]) -> None:
    cells = samples.cells()
    rude = Rude(reset=reset)
    Client(PACKED, 8, cells).step()
    rude.thread.join(30)
    assert figures(cells) == (1, 0, 0, 1)
    assert failures([cells], client.FAILURES) == expected


def test_every_return_of_accept_is_an_operation_and_errors_are_named() -> None:
    cells = samples.cells()
    with socket.socket() as no_listener:
        Server(no_listener.fileno(), 8, 3, cells).run()
    assert cells[ServerCell.ACCEPTED] == 3
    assert failures([cells], server.FAILURES) == {"accept": {"EINVAL": 3}}


def test_a_connection_that_is_gone_before_it_is_greeted_is_told() -> None:
    cells = samples.cells()
    with socket.create_server(ADDRESS) as listener:
        connection = socket.create_connection(ADDRESS)
        reset_on_close(connection)
        connection.close()
        Server(listener.fileno(), 8, 1, cells).step()
    assert cells[ServerCell.ACCEPTED] == 1
    assert failures([cells], server.FAILURES) == {"send": {"ECONNRESET": 1}}


def test_a_choosing_client_takes_the_ports_of_its_space_and_gives_them_back() -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20009, start=3)
    under_test = ChoosingClient(PACKED, 8, Lane(ports, None), cells)
    with serving(10):
        under_test.step()
    assert figures(cells) == (1, 10, 0, 10)
    assert cells[ClientCell.KERNEL_CHOICES] == cells[ClientCell.REFUSED_PORTS] == 0
    assert (ports.free, ports.leased) == (10, 0)
    second_round(under_test, cells)
    assert ports.leased == 0


def test_a_port_of_somebody_else_is_passed_over() -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20009)
    with serving(10), socket.socket() as other:
        set_port_range(other, 20000, 20000)
        other.connect(ADDRESS)
        assert other.getsockname()[1] == 20000
        ChoosingClient(PACKED, 8, Lane(ports, None), cells).step()
    assert figures(cells) == (1, 9, 0, 9)
    assert cells[ClientCell.REFUSED_PORTS] == 1
    assert (ports.foreign, ports.leased) == (1, 0)


def test_where_the_space_has_none_left_the_kernel_chooses_and_is_counted() -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20003)
    with serving(10):
        ChoosingClient(PACKED, 8, Lane(ports, None), cells).step()
    assert figures(cells) == (1, 10, 0, 10)
    assert cells[ClientCell.KERNEL_CHOICES] == 6
    assert (ports.free, ports.leased) == (4, 0)


def test_the_kernel_chooses_from_its_whole_range_after_refusals() -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20001)
    with serving(8), socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 20000))
        other.bind(("127.0.0.1", 20001))
        ChoosingClient(PACKED, 8, Lane(ports, None), cells).step()
    assert figures(cells) == (1, 8, 0, 8)
    assert cells[ClientCell.KERNEL_CHOICES] == 8


def test_a_port_of_the_space_that_the_kernel_chose_is_given_back_too() -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20009)
    ports.release(ports.take(0.0), How.TIME_WAIT_KEPT, libc.now() * 1e-9)
    assert ports.cooling == 1
    with serving(10):
        ChoosingClient(PACKED, 8, Lane(ports, None), cells).step()
    assert figures(cells) == (1, 10, 0, 10)
    assert cells[ClientCell.KERNEL_CHOICES] == 1
    assert (ports.free, ports.leased) == (10, 0)


def test_a_range_that_changed_is_noticed(netns: NetworkNamespace) -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20009)
    netns.set_sysctl("net.ipv4.ip_local_port_range", "30000 30004")
    with serving(5):
        ChoosingClient(PACKED, 8, Lane(ports, None), cells).step()
    assert figures(cells) == (1, 5, 0, 5)
    assert cells[ClientCell.KERNEL_CHOICES] == 5
    # The kernel ignored five, and for a sixth connection refused the other five.
    assert cells[ClientCell.REFUSED_PORTS] == 10
    assert (ports.excluded, ports.foreign, ports.leased) == (5, 5, 0)


def test_a_choosing_client_that_is_refused_gives_its_port_back() -> None:
    cells = samples.cells()
    ports = PortSpace(20000, 20009)
    ChoosingClient(PACKED, 8, Lane(ports, None), cells).step()
    assert failures([cells], client.FAILURES) == {"connect": {"ECONNREFUSED": 1}}
    assert (ports.free, ports.leased) == (10, 0)


def test_dumps_see_every_unix_socket_of_the_namespace() -> None:
    assert population() == 0
    files = os.listdir("/proc/self/fd")
    cells = samples.cells()
    with socket.socket(socket.AF_UNIX) as named, socket.socket(socket.AF_UNIX):
        named.bind("\0fourtuple-test")
        assert population() == 2
        # A name is an attribute, and each socket has another one: three in a dump.
        Dumper(9, cells).run()
    assert [cells[cell] for cell in DumperCell] == [9, 3, 6, 2, 2]
    assert population() == 0
    Dumper(0, cells).step()
    assert [cells[cell] for cell in DumperCell][1:] == [4, 6, 0, 2]
    assert failures([cells], dumper.FAILURES) == {}
    assert os.listdir("/proc/self/fd") == files


def test_a_dump_takes_as_many_datagrams_as_it_needs() -> None:
    sockets = [socket.socket(socket.AF_UNIX) for _ in range(1000)]
    try:
        assert population() == 1000
    finally:
        for sock in sockets:
            sock.close()


def test_the_calls_do_what_their_names_say() -> None:
    with socket.socket() as sock:
        asked = libc.get_number(sock.fileno(), socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert asked == sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    assert libc.get_number(-1, socket.SOL_SOCKET, socket.SO_SNDBUF) == -errno.EBADF
    libc.pause(1)


def test_the_range_of_these_tests_is_ten_ports() -> None:
    assert sysctl.local_port_range().size == 10
