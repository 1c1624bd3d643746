"""Streams between loops of one process, as the tests of streams start them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fourtuple.load.engine.lanes import Lane
from fourtuple.load.engine.options import Option
from fourtuple.load.engine.stream import Stream
from fourtuple.load.engine.stream_client import StreamClient
from fourtuple.load.engine.stream_reader import Reader
from fourtuple.load.engine.stream_server import SplitStreamServer, StreamServer
from fourtuple.load.engine.stream_writer import Writer
from load.engine.workloads import HOSTS, PORT, flows, running

SIZE = 16384
MEGABYTE = 1_000_000


def plain() -> Stream:
    """A stream that copies."""
    return Stream(Reader(SIZE), Writer(SIZE))


@dataclass
class Ends:
    """A client and a server whose loops run."""

    client: StreamClient
    server: StreamServer

    @property
    def sent(self) -> int:
        """Bytes that the client wrote."""
        return self.client.stream.writer.sent

    @property
    def came(self) -> int:
        """Bytes that the server read."""
        return self.server.stream.reader.received

    @property
    def returned(self) -> int:
        """Bytes that the client read."""
        return self.client.stream.reader.received


@contextmanager
def serving(
    serve: Callable[[Sequence[int]], StreamServer],
    *,
    family: int = socket.AF_INET,
    ports: Sequence[int] = (PORT,),
    options: Sequence[Option] = (),
) -> Generator[StreamServer, None, None]:
    """A server whose loop runs; it is made of its listeners, whose options accepted sockets inherit."""
    listeners = [socket.create_server((HOSTS[family], port), family=family, backlog=1024) for port in ports]
    for listener in listeners:
        listener.setblocking(False)
        for option in options:
            listener.setsockopt(*option)
    server = serve([listener.fileno() for listener in listeners])
    try:
        with running(server):
            yield server
    finally:
        for listener in listeners:
            listener.close()


@contextmanager
def streaming(
    directions: Sequence[int],
    back: int,
    *,
    client: Stream | None = None,
    server: Stream | None = None,
    family: int = socket.AF_INET,
    options: Sequence[Option] = (),
    lanes: Lane | None = None,
) -> Generator[Ends, None, None]:
    """Flows of these directions, which go ``back`` at the server's end."""
    with serving(lambda fds: StreamServer(fds, server or plain(), back), family=family, options=options) as there:
        load = flows(len(directions), family=family, options=options, lanes=lanes)
        here = StreamClient(load, client or plain(), directions)
        with running(here):
            yield Ends(here, there)


@contextmanager
def split(directions: Sequence[int]) -> Generator[Ends, None, None]:
    """Flows of which the server finds out for itself which way they go."""
    with serving(lambda fds: SplitStreamServer(fds, plain())) as there:
        here = StreamClient(flows(len(directions)), plain(), directions)
        with running(here):
            yield Ends(here, there)
