"""TLS over connections from chosen ports, on each event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest

from fourtuple import aio
from kernel.certificates import TlsEcho, trusting
from kernel.servers import PORT, NewConnector, Server, leased, serving


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_a_stream(new_connector: NewConnector, host: str) -> None:
    connector = new_connector()
    with Server() as server, serving(server, TlsEcho()):
        reader, writer = await aio.open_connection(
            host, PORT, connector=connector, family=socket.AF_INET, ssl=trusting()
        )
        assert leased(connector) == 1
        writer.write(b"secret")
        assert await reader.readexactly(6) == b"secret"
        assert writer.get_extra_info("ssl_object").version() in {"TLSv1.2", "TLSv1.3"}
        writer.close()
        await writer.wait_closed()
    assert leased(connector) == 0


async def test_the_server_name_can_be_given(new_connector: NewConnector) -> None:
    connector = new_connector()
    with Server("127.0.0.7") as server, serving(server, TlsEcho()):
        transport, _ = await aio.create_connection(
            asyncio.Protocol, "127.0.0.7", PORT, connector=connector, ssl=trusting(), server_hostname="localhost"
        )
        assert leased(connector) == 1
        transport.abort()
        await asyncio.sleep(0)
    assert leased(connector) == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.7"], ids=["not trusted", "not its name"])
async def test_a_failed_handshake_leaves_nothing(new_connector: NewConnector, host: str) -> None:
    connector = new_connector()
    context = trusting() if host == "127.0.0.7" else ssl.create_default_context()
    with Server(host) as server, serving(server, TlsEcho()):
        with pytest.raises(ssl.SSLCertVerificationError):
            await aio.open_connection(host, PORT, connector=connector, ssl=context)
        await asyncio.sleep(0)
        assert leased(connector) == 0


async def test_arguments_of_tls_need_tls(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector()
    with pytest.raises(ValueError, match="server_hostname is only meaningful with ssl"):
        await aio.open_connection("127.0.0.1", PORT, connector=connector, server_hostname="localhost")
    assert leased(connector) == 0
