"""Every way in which a socket ends, and what becomes of its port."""

from __future__ import annotations

import contextlib
import copy
import errno
import gc
import os
import pickle
import socket
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from fourtuple.linux import tcp_info
from fourtuple.ports import Connector, Socket
from kernel.servers import (
    PORT,
    Clock,
    NewConnector,
    Server,
    census,
    leased,
    open_files,
    port_of,
    reset,
)

FREE = (20000, 0, 0, 0, 0)
LEASED = (19999, 1, 0, 0, 0)
COOLING = (19999, 0, 1, 0, 0)
FOREIGN = (19999, 0, 0, 1, 0)


@pytest.fixture
def sock(connector: Connector, server: Server) -> Socket:
    """Connected; whoever asks for it ends it."""
    return connector.create_connection(server.address)


def test_closed_twice(connector: Connector, sock: Socket) -> None:
    assert census(connector) == LEASED
    for _ in range(3):
        sock.close()
        assert census(connector) == COOLING


def test_closed_again_when_the_port_has_a_new_owner(connector: Connector, server: Server, sock: Socket) -> None:
    # The lease that ended must not end the next one of the same port.
    reset(sock)
    assert census(connector) == FREE
    others = [connector.create_connection(server.address) for _ in range(50)]
    sock.close()
    del sock
    assert leased(connector) == 50
    reset(*others)


def test_closed_by_two_threads_at_once(new_connector: NewConnector, clock: Clock, server: Server) -> None:
    connector = new_connector(clock=clock)
    barrier = threading.Barrier(2)

    def close(sock: Socket) -> None:
        barrier.wait()
        sock.close()

    with ThreadPoolExecutor(2) as pool:
        for _ in range(200):
            sock = connector.create_connection(server.address)
            assert list(pool.map(close, [sock, sock])) == [None, None]
            assert leased(connector) == 0
            server.accept().close()


def test_another_thread_closes_in_the_middle_of_close(
    connector: Connector, sock: Socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worst moment: between two looks at the socket.
    def close_first(which: socket.socket) -> bool:
        socket.socket.close(which)
        return False

    monkeypatch.setattr(tcp_info, "resets_on_close", close_first)
    sock.close()
    assert leased(connector) == 0


def test_a_context_manager_closes(connector: Connector, sock: Socket) -> None:
    with pytest.raises(KeyError), sock:
        raise KeyError
    assert sock.fileno() == -1
    assert census(connector) == COOLING


class TestDetach:
    def test_the_port_counts_as_anothers(self, connector: Connector, server: Server, sock: Socket) -> None:
        fd = sock.detach()
        assert census(connector) == FOREIGN
        sock.close()
        assert sock.detach() == -1
        with socket.socket(fileno=fd) as plain:
            assert plain.getpeername() == server.address
        assert census(connector) == FOREIGN

    @pytest.mark.port_range(10000, 10000)
    def test_it_comes_back_once_the_descriptor_is_closed(
        self, connector: Connector, server: Server, sock: Socket
    ) -> None:
        plain = socket.socket(fileno=sock.detach())
        with pytest.raises(OSError, match="1 held by others"):
            connector.create_connection(server.address)
        reset(plain, server.accept())
        # Refused once, it is due again in 1/8 s; by the kernel's choice it comes at once.
        with connector.create_connection(server.address) as again:
            assert port_of(again) == 10000
            assert leased(connector) == 1

    def test_nothing_is_detached_that_never_connected(self, connector: Connector) -> None:
        os.close(connector.socket().detach())
        assert connector.statistics().spaces == ()


class TestLeaked:
    def test_the_warning_is_given_and_the_port_returns(self, connector: Connector, server: Server) -> None:
        before = open_files()
        sock = connector.create_connection(server.address)
        name = repr(sock)
        with pytest.warns(ResourceWarning) as warned:
            del sock
        assert [str(warning.message) for warning in warned] == [f"unclosed {name}"]
        assert census(connector) == COOLING
        assert open_files() == before

    def test_in_a_cycle(self, connector: Connector, server: Server) -> None:
        sock = connector.create_connection(server.address)
        held: list[object] = [sock]
        held.append(held)
        gone = weakref.ref(sock)
        del sock, held
        assert leased(connector) == 1
        with pytest.warns(ResourceWarning, match="unclosed"):
            gc.collect()
        assert gone() is None
        assert census(connector) == COOLING

    def test_one_that_never_connected(self, connector: Connector) -> None:
        sock = connector.socket()
        with pytest.warns(ResourceWarning, match="unclosed"):
            del sock

    def test_a_closed_one_is_silent(self, sock: Socket) -> None:
        sock.close()
        del sock
        gc.collect()

    def test_while_a_finaliser_connects(self, connector: Connector, server: Server) -> None:
        class Reconnects:
            def __del__(self) -> None:
                reset(connector.create_connection(server.address))

        for _ in range(100):
            cycle: list[object] = [Reconnects()]
            cycle.append(cycle)
            del cycle
            reset(connector.create_connection(server.address))
            gc.collect()
        assert leased(connector) == 0


class TestCopies:
    def test_dup_shares_the_connection(self, connector: Connector, server: Server, sock: Socket) -> None:
        sock.settimeout(12.5)
        with server.accept() as accepted, sock.dup() as twin:
            assert type(twin) is Socket
            assert twin.gettimeout() == 12.5
            assert (twin.family, twin.type, twin.proto) == (sock.family, sock.type, sock.proto)
            assert twin.getsockname() == sock.getsockname()
            sock.close()
            # The connection goes on, so the port is not free; nor is it in sight.
            assert census(connector) == FOREIGN
            twin.sendall(b"still here")
            assert accepted.recv(99) == b"still here"
        assert census(connector) == FOREIGN

    def test_the_twin_closes_first(self, connector: Connector, sock: Socket) -> None:
        sock.dup().close()
        assert census(connector) == LEASED
        sock.close()
        assert census(connector) == FOREIGN

    def test_from_a_descriptor(self, connector: Connector, server: Server) -> None:
        plain = socket.create_connection(server.address)
        with connector.socket(fileno=plain.detach()) as sock:
            assert sock.getpeername() == server.address
            assert connector.statistics().spaces == ()

    def test_from_a_descriptor_not_connected_yet(self, connector: Connector, server: Server) -> None:
        plain = socket.socket()
        with connector.socket(fileno=plain.detach()) as sock:
            sock.connect(server.address)
            assert census(connector) == LEASED

    def test_from_a_descriptor_of_ipv6(self, connector: Connector) -> None:
        plain = socket.socket(socket.AF_INET6)
        with Server("::1") as server, connector.socket(fileno=plain.detach()) as sock:
            assert sock.family == socket.AF_INET6
            sock.connect(server.address)
            assert sock.getpeername() == (*server.address, 0, 0)
            assert census(connector) == LEASED

    def test_from_a_descriptor_bound_to_an_address(self, connector: Connector, server: Server) -> None:
        plain = socket.socket()
        plain.bind(("127.0.0.2", 0))
        bound = port_of(plain)
        with connector.socket(fileno=plain.detach()) as sock:
            sock.connect(server.address)
            assert sock.getsockname() == ("127.0.0.2", bound)
            assert connector.statistics().spaces == ()

    def test_round_and_round(self, connector: Connector, server: Server, sock: Socket) -> None:
        port = port_of(sock)
        for _ in range(5):
            sock = connector.socket(fileno=sock.detach())
        assert port_of(sock) == port
        sock.close()
        assert census(connector) == FOREIGN

    def test_pickling_is_refused(self, connector: Connector, sock: Socket) -> None:
        for action in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot pickle"):
                action(sock)
        assert census(connector) == LEASED
        sock.close()

    def test_an_accepted_socket_is_a_plain_one(self, connector: Connector) -> None:
        with connector.socket() as listener:
            listener.bind(("127.0.0.1", PORT))
            listener.listen()
            with socket.create_connection(("127.0.0.1", PORT)), listener.accept()[0] as accepted:
                assert type(accepted) is socket.socket
            assert connector.statistics().spaces == ()


class TestBehindOurBack:
    def test_the_descriptor_was_closed_by_number(self, connector: Connector, sock: Socket) -> None:
        os.close(sock.fileno())
        with pytest.raises(OSError, match="Bad file descriptor") as raised:
            sock.close()
        assert raised.value.errno == errno.EBADF
        # The port returns with the error: there may never be another call.
        assert census(connector) == FOREIGN
        sock.close()

    def test_and_the_number_went_to_something_else(self, connector: Connector, sock: Socket) -> None:
        number = sock.fileno()
        os.close(number)
        reader, writer = os.pipe()
        os.dup2(reader, number)
        try:
            sock.close()
            assert census(connector) == FOREIGN
        finally:
            for fd in {reader, writer} - {number}:
                os.close(fd)

    def test_used_after_close(self, connector: Connector, server: Server, sock: Socket) -> None:
        sock.close()
        for action in (
            lambda: sock.connect(server.address),
            lambda: sock.shutdown(socket.SHUT_RDWR),
            lambda: sock.send(b"x"),
            lambda: sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            lambda: sock.bind(("127.0.0.1", 0)),
            lambda: sock.dup(),
        ):
            with pytest.raises(OSError, match="Bad file descriptor"):
                action()
        assert sock.connect_ex(server.address) == errno.EBADF
        assert leased(connector) == 0


class TestSubclass:
    def test_one_with_a_dictionary_and_overrides(self, connector: Connector, server: Server) -> None:
        class Counting(Socket):
            calls = 0

            def connect(self, address: tuple[str, int], /) -> None:
                self.calls += 1
                super().connect(address)

            def close(self) -> None:
                self.calls += 1
                super().close()

        with Counting(registry=connector.registry) as sock:
            sock.connect(server.address)
            assert leased(connector) == 1
        assert sock.calls == 2
        assert leased(connector) == 0

    def test_one_whose_constructor_fails(self, connector: Connector) -> None:
        class Failing(Socket):
            def __init__(self) -> None:
                super().__init__(registry=connector.registry)
                raise KeyError

        def fail() -> None:
            with contextlib.suppress(KeyError):
                Failing()

        with pytest.warns(ResourceWarning, match="unclosed"):
            fail()


def close(sock: Socket) -> None:
    sock.close()


def detach(sock: Socket) -> None:
    os.close(sock.detach())


def duplicate(sock: Socket) -> None:
    sock.dup().close()
    sock.close()


@pytest.mark.parametrize("end", [close, detach, duplicate])
def test_the_end_of_a_socket_never_disturbs_others(
    connector: Connector, server: Server, end: Callable[[Socket], None]
) -> None:
    others = [connector.create_connection(server.address) for _ in range(3)]
    end(connector.create_connection(server.address))
    assert leased(connector) == 3
    for sock in others:
        assert tcp_info.read(sock).state is tcp_info.TcpState.ESTABLISHED
    reset(*others)
