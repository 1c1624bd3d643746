"""What is read from a socket before it closes, against connections on the live kernel."""

from __future__ import annotations

import errno
import socket
from collections.abc import Generator

import pytest

from fourtuple.linux import sockopt, sysctl, tcp_info
from fourtuple.linux.tcp_info import TcpState

pytestmark = pytest.mark.usefixtures("netns")


@pytest.fixture
def pair(netns: object) -> Generator[tuple[socket.socket, socket.socket], None, None]:
    """A connected client and its server's side."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    with client, accepted:
        yield client, accepted


def test_states_before_and_beside_a_connection() -> None:
    with socket.socket() as sock:
        assert tcp_info.read(sock).state is TcpState.CLOSE
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert tcp_info.read(server).state is TcpState.LISTEN


def test_states_tell_who_closed_first(pair: tuple[socket.socket, socket.socket]) -> None:
    client, server = pair
    assert tcp_info.read(client).state is TcpState.ESTABLISHED
    client.shutdown(socket.SHUT_WR)
    assert server.recv(1) == b""
    # Which of the two depends on when the kernel sends the acknowledgement.
    assert tcp_info.read(client).state in {TcpState.FIN_WAIT1, TcpState.FIN_WAIT2}
    assert tcp_info.read(server).state is TcpState.CLOSE_WAIT
    server.shutdown(socket.SHUT_WR)
    assert client.recv(1) == b""
    assert tcp_info.read(server).state is TcpState.CLOSE


@pytest.mark.parametrize("setting", [0, 1])
def test_timestamps_are_the_connections_own(setting: int) -> None:
    sysctl.write("net.ipv4.tcp_timestamps", setting)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        sysctl.write("net.ipv4.tcp_timestamps", 1 - setting)
        assert tcp_info.read(client).timestamps is bool(setting)


def test_unread_bytes_are_counted(pair: tuple[socket.socket, socket.socket]) -> None:
    client, server = pair
    assert tcp_info.unread_bytes(client) == 0
    server.sendall(bytes(700))
    client.recv(1, socket.MSG_PEEK)
    assert tcp_info.unread_bytes(client) == 700
    client.recv(300)
    assert tcp_info.unread_bytes(client) == 400


def test_a_reset_on_close_is_seen() -> None:
    with socket.socket() as sock:
        assert not tcp_info.resets_on_close(sock)
        sockopt.reset_on_close(sock)
        assert tcp_info.resets_on_close(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes(8))
        assert not tcp_info.resets_on_close(sock)


def test_a_lingering_close_is_no_reset() -> None:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\5\0\0\0")
        assert not tcp_info.resets_on_close(sock)


def test_a_closed_socket_is_an_error() -> None:
    sock = socket.socket()
    sock.close()
    for action in (tcp_info.read, tcp_info.resets_on_close):
        with pytest.raises(OSError, match="Bad file descriptor") as raised:
            action(sock)
        assert raised.value.errno == errno.EBADF
    with pytest.raises(ValueError, match="descriptor"):
        tcp_info.unread_bytes(sock)
