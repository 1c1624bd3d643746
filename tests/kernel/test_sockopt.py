"""The options that decide on the local port, as the live kernel honours them."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from fourtuple.linux import sockopt

pytestmark = pytest.mark.usefixtures("netns")

FAMILIES = pytest.mark.parametrize(
    ("family", "host"),
    [
        pytest.param(socket.AF_INET, "127.0.0.1", id="IPv4"),
        pytest.param(socket.AF_INET6, "::1", id="IPv6"),
    ],
)


def tcp(family: int) -> socket.socket:
    return socket.socket(family, socket.SOCK_STREAM)


def listening(family: int, host: str) -> socket.socket:
    server = tcp(family)
    server.bind((host, 0))
    server.listen()
    return server


@FAMILIES
@pytest.mark.parametrize(("low", "high"), [(10000, 10000), (10000, 65535), (40000, 40001), (0, 0)])
def test_a_range_reads_back(family: int, host: str, low: int, high: int) -> None:
    with tcp(family) as sock:
        sockopt.set_port_range(sock, low, high)
        assert sock.getsockopt(socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE) == sockopt.packed_range(low, high)


@FAMILIES
@pytest.mark.port_range(10000, 65535)
@pytest.mark.parametrize("port", [10001, 32767, 32768, 65535])
def test_connect_takes_the_one_port_and_fails_once_it_is_taken(family: int, host: str, port: int) -> None:
    with listening(family, host) as server, tcp(family) as first, tcp(family) as second:
        for sock in (first, second):
            sock.setsockopt(socket.SOL_IP, sockopt.IP_LOCAL_PORT_RANGE, sockopt.one_port(port))
        first.connect(server.getsockname())
        assert first.getsockname()[1] == port
        assert second.connect_ex(server.getsockname()) == errno.EADDRNOTAVAIL
        # The refused socket takes another range.
        sockopt.set_port_range(second, port - 1, port - 1)
        second.connect(server.getsockname())
        assert second.getsockname()[1] == port - 1


@pytest.mark.port_range(10000, 10099)
def test_a_bound_outside_the_systems_range_is_ignored() -> None:
    with listening(socket.AF_INET, "127.0.0.1") as server, tcp(socket.AF_INET) as sock:
        sockopt.set_port_range(sock, 20000, 20000)
        sock.connect(server.getsockname())
        assert sock.getsockname()[1] in range(10000, 10100)


@pytest.mark.parametrize(
    ("low", "high", "named"), [(-1, 5, "low"), (5, 65536, "high"), (70000, 0, "low"), (6, 5, "low")]
)
def test_wrong_bounds_are_named(low: int, high: int, named: str) -> None:
    with tcp(socket.AF_INET) as sock, pytest.raises(ValueError, match=f"^{named}: "):
        sockopt.set_port_range(sock, low, high)


@FAMILIES
def test_bind_without_a_port_leaves_it_to_connect(family: int, host: str) -> None:
    with listening(family, host) as server, tcp(family) as sock:
        sockopt.set_bind_address_no_port(sock)
        sock.bind((host, 0))
        assert sock.getsockname()[:2] == (host, 0)
        sock.connect(server.getsockname())
        assert sock.getsockname()[1] in range(10000, 30000)


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "198.51.100.7"), (socket.AF_INET6, "2001:db8::7")])
def test_freebind_takes_a_foreign_address(family: int, host: str) -> None:
    with tcp(family) as sock:
        with pytest.raises(OSError, match="Cannot assign requested address"):
            sock.bind((host, 0))
        sockopt.set_freebind(sock)
        sock.bind((host, 0))


def test_a_reset_leaves_no_time_wait() -> None:
    with listening(socket.AF_INET, "127.0.0.1") as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        with accepted:
            sockopt.reset_on_close(client)
            client.close()
            with pytest.raises(ConnectionResetError):
                accepted.recv(1)
    assert " tw 0 " in Path("/proc/thread-self/net/sockstat").read_text()
