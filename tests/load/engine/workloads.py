"""Loops and their servers, as the tests of loops start them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from fourtuple.linux.addresses import packed
from fourtuple.load.engine.client import Client, Flows
from fourtuple.load.engine.echo import EchoServer
from fourtuple.load.engine.lanes import Lane
from fourtuple.load.engine.loop import Loop
from fourtuple.load.engine.options import Option

PORT = 5001
PATIENCE = 30.0
HOSTS: dict[int, str] = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


def flows(
    count: int,
    *,
    family: int = socket.AF_INET,
    ports: Sequence[int] = (PORT,),
    sources: Sequence[str] = (),
    options: Sequence[Option] = (),
    reset: bool = True,
    lanes: Lane | None = None,
) -> Flows:
    """Flows towards loopback, round robin over ports and sources."""
    return Flows(
        family=family,
        destinations=[packed(family, (HOSTS[family], port)) for port in ports],
        sources=[packed(family, (source, 0)) for source in sources],
        destination_of=[flow % len(ports) for flow in range(count)],
        source_of=[flow % len(sources) if sources else -1 for flow in range(count)],
        options=options,
        reset=reset,
        lanes=lanes,
    )


def failures(loop: Loop) -> dict[int, int]:
    """The failures that happened, by errno."""
    return {number: count for number, count in enumerate(loop.failures) if count}


@contextmanager
def running(loop: Loop) -> Generator[threading.Thread, None, None]:
    """Run a loop in a thread for the length of a block, then close it."""
    thread = threading.Thread(target=loop.run, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        loop.stop()
        thread.join(PATIENCE)
        loop.close()
        assert not thread.is_alive(), "the loop hangs"


@contextmanager
def echo(
    *,
    family: int = socket.AF_INET,
    ports: Sequence[int] = (PORT,),
    request: int = 1,
    response: int = 1,
    backlog: int = 1024,
) -> Generator[EchoServer, None, None]:
    """An echo server on loopback."""
    listeners = [socket.create_server((HOSTS[family], port), family=family, backlog=backlog) for port in ports]
    for listener in listeners:
        listener.setblocking(False)
    server = EchoServer([listener.fileno() for listener in listeners], request=request, response=response)
    try:
        with running(server):
            yield server
    finally:
        for listener in listeners:
            listener.close()


def finish(client: Client) -> None:
    """Run a client that ends by itself."""
    with running(client) as thread:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the client does not end"


def until(condition: Callable[[], bool]) -> None:
    """Look until the condition holds."""
    ended = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if condition():
            return
        ended.wait(0.01)
    raise TimeoutError("what was waited for did not happen")
