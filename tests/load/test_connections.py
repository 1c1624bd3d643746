"""The workload on sockets that are connected to nothing."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Generator

import pytest

from fourtuple.linux.sockopt import RESET_LINGER
from fourtuple.load.choosers import Streams, Way
from fourtuple.load.connections import Connections
from fourtuple.load.sinks import Address

ADDRESS = ("192.0.2.1", 80)


class Made:
    """Makes sockets and keeps them in sight; refuses from the ``most``-th that is open."""

    def __init__(self) -> None:
        self.sockets: list[socket.socket] = []
        self.most = 1000

    def connect(self, address: Address) -> socket.socket:
        assert address == ADDRESS
        if len(self.open()) >= self.most:
            raise OSError("no more")
        self.sockets.append(socket.socket())
        return self.sockets[-1]

    def open(self) -> list[socket.socket]:
        return [sock for sock in self.sockets if sock.fileno() >= 0]


def never(address: Address) -> Awaitable[Streams]:
    raise AssertionError(address)


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def connections(made: Made) -> Generator[Connections, None, None]:
    result = Connections(ADDRESS, Way(made.connect, never))
    yield result
    result.close()


def test_growing_holds_more(made: Made, connections: Connections) -> None:
    connections.grow(3)
    connections.grow(2)
    assert len(connections) == len(made.open()) == 5


def test_replacing_closes_one_for_each_it_makes(made: Made, connections: Connections) -> None:
    connections.grow(10)
    made.most = 10
    took = connections.replace(50)
    assert len(took) == 50
    assert all(nanoseconds > 0 for nanoseconds in took)
    assert len(made.sockets) == 60
    assert len(connections) == len(made.open()) == 10


def test_the_one_replaced_is_no_favourite(made: Made, connections: Connections) -> None:
    connections.grow(4)
    connections.replace(200)
    first = made.sockets[:4]
    assert all(sock.fileno() < 0 for sock in first)


def test_every_connection_is_closed_by_reset(made: Made, connections: Connections) -> None:
    connections.grow(3)
    connections.replace(3)
    for sock in made.open():
        size = len(RESET_LINGER)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, size) == RESET_LINGER


def test_a_refusal_while_growing_keeps_what_is_there(made: Made, connections: Connections) -> None:
    made.most = 3
    with pytest.raises(OSError, match="no more"):
        connections.grow(5)
    assert len(connections) == 3


def test_closing_leaves_nothing_open(made: Made, connections: Connections) -> None:
    connections.grow(5)
    connections.close()
    assert made.open() == []
    assert len(connections) == 0
