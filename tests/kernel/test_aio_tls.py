"""TLS over connections from chosen ports, on each event loop, and for blocking sockets."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from fourtuple import aio
from fourtuple.ports import Connector
from kernel.servers import PATIENCE, NewConnector, Server, census, echo, leased, serving

# Self-signed for localhost, 127.0.0.1 and ::1, good for a hundred years, and of no value to anybody:
# openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36525 -subj /CN=localhost \
#     -addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1 -addext basicConstraints=critical,CA:TRUE
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBrTCCAVSgAwIBAgIUOk7vcjG1X3y7XBbaRg63pn+lfpQwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDE4MTMwOVoYDzIxMjYxMjAx
MTgxMzA5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARj4daxl+L+0RpY1+hKsnUe1cMzkxFAUtuedfYp5OAa2Qef2InO4QOx
jCow9skGt+7+4wcBs/OegvDoQxNsVGhWo4GBMH8wHQYDVR0OBBYEFAtHwGj+FSBA
LHc4V8QPNAV+mJcnMB8GA1UdIwQYMBaAFAtHwGj+FSBALHc4V8QPNAV+mJcnMCwG
A1UdEQQlMCOCCWxvY2FsaG9zdIcEfwAAAYcQAAAAAAAAAAAAAAAAAAAAATAPBgNV
HRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCIENlXlo7uFb5RimIIc82Fbe6
yY7t1Ayvozz9DzJdShQJAiBTptiVvcxQgguWrnuoxqKFHKPZKiCVnB0bR4OzpcIR
hg==
-----END CERTIFICATE-----
"""
KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCbMvg4RlPGgV+Eeh
FINLUpfNOx38cdqcpJhCihEndyqhRANCAARj4daxl+L+0RpY1+hKsnUe1cMzkxFA
UtuedfYp5OAa2Qef2InO4QOxjCow9skGt+7+4wcBs/OegvDoQxNsVGhW
-----END PRIVATE KEY-----
"""


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=CERTIFICATE)


@pytest.fixture
def tls_echo(tmp_path: Path) -> _Handler:
    """Handles a server's end of a connection: a handshake, then an echo."""
    pem = tmp_path / "server.pem"
    pem.write_text(CERTIFICATE + KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return _Handler(context)


class _Handler:
    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context

    def __call__(self, sock: socket.socket) -> None:
        try:
            with self._context.wrap_socket(sock, server_side=True, suppress_ragged_eofs=True) as secure:
                echo(secure)
        except OSError:
            # The client gave up on us, as it should where it does not trust us.
            return


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_stream(new_connector: NewConnector, tls_echo: _Handler, host: str) -> None:
    connector = new_connector()
    with Server() as server, serving(server, tls_echo):
        reader, writer = await aio.open_connection(host, 5000, connector=connector, family=socket.AF_INET, ssl=trusting())
        assert leased(connector) == 1
        writer.write(b"secret")
        assert await reader.readexactly(6) == b"secret"
        assert writer.get_extra_info("ssl_object").version() in {"TLSv1.2", "TLSv1.3"}
        writer.close()
        await writer.wait_closed()
    assert leased(connector) == 0


async def test_the_server_name_can_be_given(new_connector: NewConnector, tls_echo: _Handler) -> None:
    connector = new_connector()
    with Server("127.0.0.7") as server, serving(server, tls_echo):
        transport, _ = await aio.create_connection(
            asyncio.Protocol, "127.0.0.7", 5000, connector=connector, ssl=trusting(), server_hostname="localhost"
        )
        assert leased(connector) == 1
        transport.abort()
        await asyncio.sleep(0)
    assert leased(connector) == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.7"], ids=["not trusted", "not its name"])
async def test_a_failed_handshake_leaves_nothing(new_connector: NewConnector, tls_echo: _Handler, host: str) -> None:
    connector = new_connector()
    context = trusting() if host == "127.0.0.7" else ssl.create_default_context()
    with Server(host) as server, serving(server, tls_echo):
        with pytest.raises(ssl.SSLCertVerificationError):
            await aio.open_connection(host, 5000, connector=connector, ssl=context)
        await asyncio.sleep(0)
        assert leased(connector) == 0


async def test_arguments_of_tls_need_tls(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector()
    with pytest.raises(ValueError, match="server_hostname is only meaningful with ssl"):
        await aio.open_connection("127.0.0.1", 5000, connector=connector, server_hostname="localhost")
    assert leased(connector) == 0


def test_a_blocking_socket_that_is_wrapped_goes_out_of_sight(connector: Connector, tls_echo: _Handler) -> None:
    with Server() as server, serving(server, tls_echo):
        sock = connector.create_connection(server.address, PATIENCE)
        with trusting().wrap_socket(sock, server_hostname="localhost") as secure:
            # The wrapper takes the descriptor over, so the port is another's from here on.
            assert census(connector) == (19999, 0, 0, 1, 0)
            secure.sendall(b"secret")
            assert secure.recv(6) == b"secret"
