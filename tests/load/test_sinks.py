"""Sinks on a private loopback."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from fourtuple.errors import Unsupported
from fourtuple.linux.sockopt import reset_on_close
from fourtuple.load import sinks as under_test
from fourtuple.load.sink import serve
from fourtuple.load.sinks import sinks, sinks_needed

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("netns")]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1"])
def test_they_listen_just_outside_the_range(host: str) -> None:
    with sinks(host, 10) as address:
        assert address == (host, 9999)
        socket.create_connection(address).close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address)


def test_a_port_that_is_taken_is_passed_over_even_if_it_could_be_shared() -> None:
    with sinks("127.0.0.1", 10) as first, sinks("127.0.0.1", 10) as second:
        assert (first[1], second[1]) == (9999, 9998)


@pytest.mark.port_range(1024, 65535)
def test_without_room_outside_they_listen_inside() -> None:
    with sinks("127.0.0.1", 10) as address:
        assert 1024 <= address[1] <= 65535
        socket.create_connection(address).close()


def test_an_address_that_is_not_here_is_named() -> None:
    with pytest.raises(Unsupported, match=r"192\.0\.2\.1"), sinks("192.0.2.1", 10):
        pass


def test_each_sink_is_given_half_of_what_it_could_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "file_limit", lambda: (1000, 10_000))
    assert [sinks_needed(count) for count in (0, 1, 500, 501, 1000)] == [1, 1, 1, 2, 2]


def test_several_share_one_destination(monkeypatch: pytest.MonkeyPatch) -> None:
    def three(connections: int) -> int:
        return 3

    monkeypatch.setattr(under_test, "sinks_needed", three)
    with sinks("127.0.0.1", 10) as address:
        for sock in [socket.create_connection(address) for _ in range(50)]:
            sock.shutdown(socket.SHUT_WR)
            assert sock.recv(1) == b""
            sock.close()


class Serving:
    """`serve` in a thread, on a listener of its own."""

    def __init__(self) -> None:
        listener = socket.create_server(("127.0.0.1", 9000), backlog=1000)
        self.reading, self.lifeline = os.pipe()
        self.address = listener.getsockname()
        self.thread = threading.Thread(target=self._run, args=[listener])
        self.thread.start()

    def _run(self, listener: socket.socket) -> None:
        with listener:
            serve(listener, self.lifeline)

    def end(self) -> None:
        os.close(self.reading)
        self.thread.join(30)
        os.close(self.lifeline)


def test_a_sink_holds_until_the_peer_is_gone_and_ends_with_its_parent() -> None:
    serving = Serving()
    with socket.create_connection(serving.address) as kept:
        for _ in range(300):
            with socket.create_connection(serving.address) as passing:
                reset_on_close(passing)
        with socket.create_connection(serving.address) as leaving:
            leaving.shutdown(socket.SHUT_WR)
            assert leaving.recv(1) == b""
        kept.setblocking(False)
        with pytest.raises(BlockingIOError):
            kept.recv(1)
        serving.end()
        assert not serving.thread.is_alive()
