"""Who chooses the source port of a connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from fourtuple.load.sinks import Address
from fourtuple.ports import Connector, aio

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Way:
    """How to connect: blocking, and as asyncio's streams."""

    connect: Callable[[Address], socket.socket]
    open: Callable[[Address], Awaitable[Streams]]


Chooser = Callable[[], AbstractContextManager[Way]]


@contextmanager
def kernel_chooses() -> Generator[Way, None, None]:
    """Connect as the standard library does; the kernel searches for a port."""

    async def open_streams(address: Address) -> Streams:
        return await asyncio.open_connection(*address)

    yield Way(socket.create_connection, open_streams)


@contextmanager
def fourtuple_chooses() -> Generator[Way, None, None]:
    """Connect with a ``Connector`` of its own."""
    with Connector() as connector:

        async def open_streams(address: Address) -> Streams:
            return await aio.open_connection(*address, connector=connector)

        yield Way(connector.create_connection, open_streams)
