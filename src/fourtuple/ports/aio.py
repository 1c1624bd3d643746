"""asyncio: connections from chosen source ports, with happy eyeballs, on any event loop.

The loop is handed a connected ``Socket``, so that asyncio's own loop and uvloop serve alike.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import aiohappyeyeballs

from fourtuple.errors import NoSuchLocalAddress, PortsExhausted

from . import endpoints
from .connector import Connector, default_connector
from .sock import Socket

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .sources import Source

HAPPY_EYEBALLS_DELAY = 0.25
"""Seconds before the next address is tried beside the one under way (RFC 8305, section 8)."""

_AddressInfo: TypeAlias = "tuple[int, int, int, str, tuple[Any, ...]]"  # as getaddrinfo() gives it
_P = TypeVar("_P", bound=asyncio.BaseProtocol)


async def connect(
    host: str | None,
    port: int | str,
    *,
    connector: Connector | None = None,
    source: Source = None,
    family: int = socket.AF_UNSPEC,
    happy_eyeballs_delay: float | None = HAPPY_EYEBALLS_DELAY,
    interleave: int | None = None,
) -> socket.socket:
    """A connected, non-blocking ``Socket``, to be handed to an event loop.

    ``happy_eyeballs_delay`` in seconds, None to try one address after the other; ``interleave`` as for
    ``loop.create_connection``. A timeout or cancellation leaves no port leased.

    Raises PortsExhausted when an attempt met it, NoSuchLocalAddress when all did, else the OSError of the attempts;
    ValueError that names the argument.
    """
    if isinstance(port, int) and not 0 <= port <= 65535:
        raise ValueError(f"port must be 0 to 65535, not {port}")
    registry = (connector or default_connector()).registry
    sources = registry.sources_for(source)
    named: list[PortsExhausted | NoSuchLocalAddress] = []

    def new_socket(info: _AddressInfo) -> socket.socket:
        return _Attempt(named, info[0], registry=registry, sources=sources)

    infos = await _resolve(host, port, family)
    try:
        return await aiohappyeyeballs.start_connection(  # pyright: ignore[reportUnknownMemberType]: a bare tuple
            infos, happy_eyeballs_delay=happy_eyeballs_delay, interleave=interleave, socket_factory=new_socket
        )
    except OSError as error:
        raise _most_telling(error, named) from None
    finally:
        # The errors hold this frame, through their tracebacks.
        named.clear()


async def create_connection(
    protocol_factory: Callable[[], _P],
    host: str | None,
    port: int | str,
    *,
    connector: Connector | None = None,
    source: Source = None,
    family: int = socket.AF_UNSPEC,
    happy_eyeballs_delay: float | None = HAPPY_EYEBALLS_DELAY,
    interleave: int | None = None,
    **options: Any,
) -> tuple[asyncio.Transport, _P]:
    """``loop.create_connection`` with a chosen source port; ``options`` go to it: ``ssl``, ``server_hostname``, ...

    With ``ssl`` the server name is ``host`` unless given. Raises as ``connect``.
    """
    if options.get("local_addr") is not None:
        raise ValueError("local_addr: give the address as source=; its port is chosen here")
    sock = await connect(
        host,
        port,
        connector=connector,
        source=source,
        family=family,
        happy_eyeballs_delay=happy_eyeballs_delay,
        interleave=interleave,
    )
    if options.get("ssl") and options.get("server_hostname") is None:
        options["server_hostname"] = host
    try:
        return await asyncio.get_running_loop().create_connection(protocol_factory, sock=sock, **options)
    except BaseException:
        sock.close()
        raise


async def open_connection(
    host: str | None, port: int | str, *, limit: int = 2**16, **options: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """``asyncio.open_connection`` with a chosen source port; ``options`` as for ``create_connection`` of this module.

    ``limit`` is the reader's buffer in bytes. Raises as ``connect``.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=limit, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await create_connection(lambda: protocol, host, port, **options)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _most_telling(error: OSError, named: list[PortsExhausted | NoSuchLocalAddress]) -> OSError:
    # ``error`` has the errno of the attempts if that was the same for all.
    for found in named:
        if isinstance(found, PortsExhausted):
            return found
    return named[0] if named and error.errno == errno.EADDRNOTAVAIL else error


class _Attempt(Socket):
    # start_connection() joins the errors of several addresses into one text; this keeps the named one.
    __slots__ = ("_named",)

    def __init__(self, named: list[PortsExhausted | NoSuchLocalAddress], family: int, **options: Any) -> None:
        super().__init__(family, socket.SOCK_STREAM, **options)
        self._named = named

    def connect(self, address: Any, /) -> None:
        try:
            super().connect(address)
        except (PortsExhausted, NoSuchLocalAddress) as error:
            self._named.append(error)
            raise


async def _resolve(host: str | None, port: int | str, family: int) -> Sequence[_AddressInfo]:
    literal = endpoints.literal_address(host, port) if isinstance(host, str) and isinstance(port, int) else None
    if literal is not None and family in (socket.AF_UNSPEC, literal[0]):
        return [(literal[0], socket.SOCK_STREAM, socket.IPPROTO_TCP, "", literal[1])]
    loop = asyncio.get_running_loop()
    return await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)
