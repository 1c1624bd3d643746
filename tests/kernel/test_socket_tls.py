"""TLS over blocking sockets: what becomes of the port when ``ssl`` takes the descriptor over."""

from __future__ import annotations

import gc
import socket
import ssl
from collections.abc import Generator

import pytest

from fourtuple import SSLSocket
from fourtuple.ports import Connector
from kernel.certificates import TlsEcho, trusting
from kernel.servers import PATIENCE, Server, census, leased, port_of, serving

LEASED = (19999, 1, 0, 0, 0)
COOLING = (19999, 0, 1, 0, 0)
FOREIGN = (19999, 0, 0, 1, 0)


@pytest.fixture
def tls_server(connector: Connector) -> Generator[Server, None, None]:
    with Server() as server, serving(server, TlsEcho()):
        yield server


def ours() -> ssl.SSLContext:
    context = trusting()
    context.sslsocket_class = SSLSocket
    return context


def test_wrapped_by_ssl_alone_it_goes_out_of_sight(connector: Connector, tls_server: Server) -> None:
    sock = connector.create_connection(tls_server.address, PATIENCE)
    with trusting().wrap_socket(sock, server_hostname="localhost") as secure:
        assert census(connector) == FOREIGN
        secure.sendall(b"secret")
        assert secure.recv(6) == b"secret"
    assert census(connector) == FOREIGN


def test_wrapped_by_our_class_it_stays_accounted_for(connector: Connector, tls_server: Server) -> None:
    sock = connector.create_connection(tls_server.address, PATIENCE)
    port = port_of(sock)
    with ours().wrap_socket(sock, server_hostname="localhost") as secure:
        assert isinstance(secure, SSLSocket)
        assert sock.fileno() == -1
        sock.close()
        assert census(connector) == LEASED
        assert port_of(secure) == port
        secure.sendall(b"secret")
        assert secure.recv(6) == b"secret"
    assert census(connector) == COOLING


def test_a_failed_handshake_gives_the_port_back(connector: Connector, tls_server: Server) -> None:
    sock = connector.create_connection(tls_server.address, PATIENCE)
    with pytest.raises(ssl.SSLCertVerificationError):
        ours().wrap_socket(sock, server_hostname="somebody.else")
    sock.close()
    assert leased(connector) == 0


def test_what_ssl_refuses_stays_with_the_socket(connector: Connector, tls_server: Server) -> None:
    with connector.create_connection(tls_server.address, PATIENCE) as sock:
        with pytest.raises(ValueError, match="server_hostname"):
            ours().wrap_socket(sock)
        assert sock.getpeername() == tls_server.address
        assert census(connector) == LEASED
    assert census(connector) == COOLING


def test_left_to_the_garbage_collector(connector: Connector, tls_server: Server) -> None:
    secure = ours().wrap_socket(connector.create_connection(tls_server.address), server_hostname="localhost")
    assert census(connector) == LEASED
    held: list[object] = [secure]
    held.append(held)
    del secure, held
    with pytest.warns(ResourceWarning, match="unclosed"):
        gc.collect()
    assert leased(connector) == 0


def test_detached(connector: Connector, tls_server: Server) -> None:
    secure = ours().wrap_socket(connector.create_connection(tls_server.address), server_hostname="localhost")
    with socket.socket(fileno=secure.detach()) as plain:
        assert plain.getpeername() == tls_server.address
        assert census(connector) == FOREIGN


def test_a_plain_socket_is_wrapped_as_ever(connector: Connector, tls_server: Server) -> None:
    sock = socket.create_connection(tls_server.address, PATIENCE)
    with ours().wrap_socket(sock, server_hostname="localhost") as secure:
        secure.sendall(b"secret")
        assert secure.recv(6) == b"secret"
    assert connector.statistics().spaces == ()
