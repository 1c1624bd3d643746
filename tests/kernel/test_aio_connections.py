"""asyncio: streams and transports from chosen ports, on each event loop."""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import aiohappyeyeballs
import pytest

import fourtuple
from fourtuple import aio
from fourtuple.errors import NoSuchLocalAddress, PortsExhausted
from fourtuple.linux import sysctl
from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports import Connector, Socket
from kernel.links import HERE, THERE, ip, linked_namespaces
from kernel.servers import (
    PATIENCE,
    PORT,
    NewConnector,
    Server,
    census,
    counts,
    hang_up,
    leased,
    open_files,
    port_of,
    reset,
    serving,
    states_towards,
)

NAME = "host.example"
STRATEGIES = pytest.mark.parametrize("strategy", ["range", "bind", "kernel"])


async def eventually(true: Callable[[], object]) -> None:
    """Let the loop turn until something is so."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0)


async def close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


def answer(monkeypatch: pytest.MonkeyPatch, *hosts: str) -> None:
    """Have the loop find these addresses for ``NAME``, in this order."""
    loop = asyncio.get_running_loop()
    others = loop.getaddrinfo

    async def getaddrinfo(host: str, port: int, **options: Any) -> list[tuple[Any, ...]]:
        if host != NAME:
            return [*await others(host, port, **options)]
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (host, port, 0, 0))
            if ":" in host
            else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port))
            for host in hosts
        ]

    monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)


@contextmanager
def deaf_server() -> Generator[None, None, None]:
    """A server whose queue of connections to accept is full, so that it answers nobody."""
    with Server(backlog=0) as server, socket.create_connection(server.address):
        yield


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
@STRATEGIES
async def test_a_stream(new_connector: NewConnector, strategy: str, host: str) -> None:
    connector = new_connector(strategy=strategy)
    with Server("127.0.0.1" if host == "localhost" else host) as server:
        reader, writer = await aio.open_connection(host, PORT, connector=connector, family=0)
        with server.accept() as accepted:
            assert leased(connector) == 1
            assert isinstance(reader, asyncio.StreamReader)
            accepted.sendall(b"hello\n")
            assert await reader.readline() == b"hello\n"
            writer.write(b"bye\n")
            await writer.drain()
            assert accepted.recv(99) == b"bye\n"
            await close(writer)
    assert leased(connector) == 0


async def test_a_transport_and_its_protocol(new_connector: NewConnector, server: Server) -> None:
    class Protocol(asyncio.Protocol):
        def __init__(self) -> None:
            self.lost = asyncio.get_running_loop().create_future()
            self.data = b""

        def data_received(self, data: bytes) -> None:
            self.data += data

        def connection_lost(self, exc: Exception | None) -> None:
            self.lost.set_result(exc)

    connector = new_connector()
    transport, protocol = await aio.create_connection(Protocol, "127.0.0.1", PORT, connector=connector)
    with server.accept() as accepted:
        accepted.sendall(b"data")
    assert await protocol.lost is None
    assert protocol.data == b"data"
    assert transport.is_closing()
    await eventually(lambda: leased(connector) == 0)


async def test_the_default_connector(default: Connector, server: Server) -> None:
    _, writer = await fourtuple.aio.open_connection("127.0.0.1", PORT)
    assert leased(default) == 1
    await close(writer)


async def test_connect_gives_a_socket(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector(source=["127.0.0.2"])
    with await aio.connect("127.0.0.1", PORT, connector=connector) as sock:
        assert isinstance(sock, Socket)
        assert not sock.getblocking()
        assert sock.getsockname()[0] == "127.0.0.2"
    with await aio.connect("127.0.0.1", str(PORT), connector=connector, source="127.0.0.3") as sock:
        assert sock.getsockname()[0] == "127.0.0.3"


async def test_the_streams_limit(new_connector: NewConnector, server: Server) -> None:
    reader, writer = await aio.open_connection("127.0.0.1", PORT, connector=new_connector(), limit=8)
    with server.accept() as accepted:
        accepted.sendall(b"far too long for a line\n")
        with pytest.raises(ValueError, match="limit"):
            await reader.readline()
    await close(writer)


@STRATEGIES
async def test_refused(new_connector: NewConnector, strategy: str) -> None:
    connector = new_connector(strategy=strategy)
    before = open_files()
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            await aio.open_connection("127.0.0.1", PORT, connector=connector)
    assert leased(connector) == 0
    assert open_files() == before


class TestGivingUp:
    @STRATEGIES
    async def test_cancelled(self, new_connector: NewConnector, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with deaf_server():
            before = open_files()
            task = asyncio.ensure_future(aio.open_connection("127.0.0.1", PORT, connector=connector))
            await eventually(lambda: TcpState.SYN_SENT in states_towards().values())
            assert leased(connector) == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert leased(connector) == 0
            assert TcpState.SYN_SENT not in states_towards().values()
            assert open_files() == before

    @STRATEGIES
    async def test_timed_out(self, new_connector: NewConnector, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        with deaf_server():
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await aio.open_connection("127.0.0.1", PORT, connector=connector)
            assert leased(connector) == 0
            assert TcpState.SYN_SENT not in states_towards().values()

    async def test_in_a_race(self, new_connector: NewConnector, monkeypatch: pytest.MonkeyPatch) -> None:
        connector = new_connector(source=["127.0.0.2", "127.0.0.3"])
        answer(monkeypatch, "127.0.0.1", "127.0.0.1", "127.0.0.1")
        with deaf_server():
            before = open_files()
            task = asyncio.ensure_future(
                aio.open_connection(NAME, PORT, connector=connector, happy_eyeballs_delay=0.001)
            )
            await eventually(lambda: leased(connector) == 3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await eventually(lambda: leased(connector) == 0)
            assert len(open_files() - before) <= 3

    async def test_cancelled_at_every_step(self, new_connector: NewConnector, server: Server) -> None:
        # However many turns of the loop a connection takes, being cancelled at any of them leaves nothing.
        connector = new_connector()
        for turns in range(1000):
            task = asyncio.ensure_future(aio.open_connection("127.0.0.1", PORT, connector=connector))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            try:
                _, writer = await task
            except asyncio.CancelledError:
                continue
            await close(writer)
            break
        else:
            pytest.fail("no attempt ran to its end")
        assert turns > 1, "none was cancelled after it had begun"
        await eventually(lambda: leased(connector) == 0)


class TestHappyEyeballs:
    @pytest.fixture
    def connector(self, new_connector: NewConnector) -> Generator[Connector, None, None]:
        """In a namespace with a cable to another; nobody answers at fd77::9, where packets get lost."""
        with linked_namespaces((10000, 29999)) as (_, there), ExitStack() as stack:
            ip("-6 neigh add fd77::9 lladdr 02:00:00:00:00:09 dev veth0 nud permanent")
            with there.enter():
                for family in (4, 6):
                    stack.enter_context(Server(THERE[family]))
            yield new_connector()

    async def test_a_dead_ipv6_address(self, connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
        answer(monkeypatch, "fd77::9", THERE[4])
        reader, writer = await aio.open_connection(NAME, PORT, connector=connector, happy_eyeballs_delay=0.01)
        assert writer.get_extra_info("sockname")[0] == HERE[4]
        by_source = {space.source: space.ports for space in connector.statistics().spaces}
        assert by_source[HERE[6]] == (20000, 0, 0, 0, 0)
        assert by_source[HERE[4]].leased == 1
        assert TcpState.SYN_SENT not in states_towards().values()
        await close(writer)
        assert reader.at_eof

    async def test_a_dead_address_alone_times_out(self, connector: Connector) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await aio.open_connection("fd77::9", PORT, connector=connector)
        assert leased(connector) == 0

    def test_a_dead_address_times_out_for_blocking_sockets_too(self, connector: Connector) -> None:
        with pytest.raises(TimeoutError):
            connector.create_connection(("fd77::9", PORT), timeout=0.02)
        assert leased(connector) == 0

    @pytest.mark.parametrize("delay", [0.01, None])
    async def test_the_preferred_one_wins(
        self, connector: Connector, monkeypatch: pytest.MonkeyPatch, delay: float | None
    ) -> None:
        answer(monkeypatch, THERE[6], THERE[4])
        for _ in range(5):
            _, writer = await aio.open_connection(NAME, PORT, connector=connector, happy_eyeballs_delay=delay)
            assert leased(connector) == 1
            await close(writer)

    async def test_all_at_once_leaves_one(self, connector: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
        answer(monkeypatch, *(THERE[6], THERE[4]) * 5)
        for _ in range(10):
            _, writer = await aio.open_connection(NAME, PORT, connector=connector, happy_eyeballs_delay=0.0)
            await eventually(lambda: leased(connector) == 1)
            await close(writer)


@pytest.mark.port_range(10000, 10019)
class TestFull:
    @pytest.fixture
    def full(self, new_connector: NewConnector, server: Server) -> Generator[Connector, None, None]:
        connector = new_connector()
        with ExitStack() as stack:
            for _ in range(20):
                stack.enter_context(connector.create_connection(server.address))
            yield connector

    async def test_the_error_has_its_name(self, full: Connector) -> None:
        with pytest.raises(PortsExhausted) as raised:
            await aio.open_connection("127.0.0.1", PORT, connector=full)
        assert raised.value.shortage.leased == 20
        assert raised.value.errno == errno.EADDRNOTAVAIL

    @pytest.mark.parametrize("hosts", [("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "::1"), ("::1", "127.0.0.1")])
    async def test_among_several_addresses_too(
        self, full: Connector, monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, ...]
    ) -> None:
        # ::1 refuses, for nobody listens there.
        answer(monkeypatch, *hosts)
        with pytest.raises(PortsExhausted):
            await aio.open_connection(NAME, PORT, connector=full)

    async def test_another_address_may_have_ports(self, full: Connector, monkeypatch: pytest.MonkeyPatch) -> None:
        answer(monkeypatch, "127.0.0.1", "::1")
        with Server("::1"):
            _, writer = await aio.open_connection(NAME, PORT, connector=full)
            assert writer.get_extra_info("peername")[:2] == ("::1", PORT)
            await close(writer)


class TestNoSuchLocalAddress:
    @pytest.fixture(autouse=True)
    def ipv6_off(self, new_connector: NewConnector) -> None:
        sysctl.write("net.ipv6.conf.all.disable_ipv6", 1)

    @pytest.mark.parametrize("hosts", [("::1",), ("::1", "::2"), ("::1", "::2", "::3")])
    async def test_it_has_its_name(
        self, new_connector: NewConnector, monkeypatch: pytest.MonkeyPatch, hosts: tuple[str, ...]
    ) -> None:
        answer(monkeypatch, *hosts)
        with pytest.raises(NoSuchLocalAddress, match="disable_ipv6"):
            await aio.open_connection(NAME, PORT, connector=new_connector())

    async def test_localhost_falls_through_to_ipv4(
        self, new_connector: NewConnector, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answer(monkeypatch, "::1", "127.0.0.1")
        _, writer = await aio.open_connection(NAME, PORT, connector=new_connector())
        assert writer.get_extra_info("peername") == server.address
        await close(writer)

    async def test_a_source_that_no_interface_has(self, new_connector: NewConnector, server: Server) -> None:
        with pytest.raises(NoSuchLocalAddress, match=r"203\.0\.113\.9"):
            await aio.open_connection("127.0.0.1", PORT, connector=new_connector(), source="203.0.113.9")


class TestUniversalHook:
    """The socket alone, handed to what makes connections itself."""

    @pytest.mark.port_range(10000, 10019)
    @STRATEGIES
    async def test_sock_connect(self, new_connector: NewConnector, server: Server, strategy: str) -> None:
        connector = new_connector(strategy=strategy)
        loop = asyncio.get_running_loop()
        with ExitStack() as stack:
            for _ in range(19):
                stack.enter_context(connector.create_connection(server.address))
            sock = stack.enter_context(connector.socket())
            sock.setblocking(False)
            await loop.sock_connect(sock, server.address)
            assert sock.getpeername() == server.address
            late = stack.enter_context(connector.socket())
            late.setblocking(False)
            with pytest.raises(PortsExhausted):
                await loop.sock_connect(late, server.address)

    async def test_sock_connect_to_nobody(self, new_connector: NewConnector) -> None:
        connector = new_connector()
        with connector.socket() as sock:
            sock.setblocking(False)
            with pytest.raises(ConnectionRefusedError):
                await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", PORT))
        assert leased(connector) == 0

    async def test_a_connected_socket_for_a_transport(self, new_connector: NewConnector, server: Server) -> None:
        connector = new_connector()
        sock = connector.create_connection(server.address)
        sock.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=sock)
        with server.accept() as accepted:
            accepted.sendall(b"hi")
            assert await reader.readexactly(2) == b"hi"
        await close(writer)

    async def test_a_socket_factory(self, new_connector: NewConnector, server: Server) -> None:
        # As aiohttp's: it gets what getaddrinfo() found.
        connector = new_connector()

        def factory(info: tuple[int, int, int, str, tuple[Any, ...]]) -> socket.socket:
            return connector.socket(*info[:3])

        infos = await asyncio.get_running_loop().getaddrinfo("127.0.0.1", PORT, type=socket.SOCK_STREAM)
        connect: Callable[..., Awaitable[socket.socket]] = getattr(aiohappyeyeballs, "start_connection")  # noqa: B009
        sock = await connect(infos, socket_factory=factory)
        assert leased(connector) == 1
        reset(sock)


@pytest.mark.port_range(10000, 10199)
@STRATEGIES
async def test_many_tasks_near_full(new_connector: NewConnector, strategy: str) -> None:
    connector = new_connector(strategy=strategy)
    with Server() as server, ExitStack() as stack:
        for _ in range(150):
            stack.enter_context(connector.create_connection(server.address))
            stack.enter_context(server.accept())
        with serving(server, hang_up):
            open_now: set[int] = set()

            async def cycle() -> None:
                for _ in range(20):
                    sock = await aio.connect("127.0.0.1", PORT, connector=connector)
                    port = port_of(sock)
                    assert port not in open_now
                    open_now.add(port)
                    assert await asyncio.get_running_loop().sock_recv(sock, 1) == b""
                    open_now.remove(port)
                    sock.close()

            await asyncio.gather(*(cycle() for _ in range(40)))
        assert leased(connector) == 150
        assert counts(connector).exhausted == 0
        assert census(connector).cooling == 0


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"port": 65536}, ValueError, "^port must be 0 to 65535, not 65536"),
    ({"port": -1}, ValueError, "^port must be 0 to 65535, not -1"),
    ({"source": "nowhere"}, ValueError, "^source: "),
    ({"family": socket.AF_INET6}, socket.gaierror, "family"),
    ({"local_addr": ("127.0.0.2", 0)}, ValueError, "^local_addr: .*source"),
]


@pytest.mark.parametrize(("wrong", "error", "text"), BAD, ids=[str(wrong) for wrong, _, _ in BAD])
async def test_bad_arguments(
    new_connector: NewConnector, server: Server, wrong: dict[str, Any], error: type[Exception], text: str
) -> None:
    connector = new_connector()
    arguments: dict[str, Any] = {"host": "127.0.0.1", "port": PORT, "connector": connector} | wrong
    with pytest.raises(error, match=text):
        await aio.open_connection(**arguments)
    assert leased(connector) == 0


@pytest.mark.parametrize("host", [None, b"127.0.0.1"])
async def test_hosts_that_asyncio_takes(new_connector: NewConnector, server: Server, host: Any) -> None:
    _, writer = await aio.open_connection(host, PORT, connector=new_connector())
    assert writer.get_extra_info("peername") == server.address
    await close(writer)


async def test_a_closed_connector(new_connector: NewConnector, server: Server) -> None:
    connector = new_connector()
    connector.close()
    with pytest.raises(ValueError, match="this connector is closed"):
        await aio.open_connection("127.0.0.1", PORT, connector=connector)
