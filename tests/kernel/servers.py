"""What the tests of connections share: servers, a clock to turn by hand, and the kernel's own view of the sockets."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fourtuple.errors import PortsExhausted
from fourtuple.linux import sockopt
from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports import Census, Connector, Counts, Socket

if TYPE_CHECKING:
    from typing import Self

PORT = 5000
"""Where servers listen: outside every port range of these tests, so that they take none of its ports."""

PATIENCE = 30.0
"""Seconds after which something that should have happened counts as hung."""

NewConnector = Callable[..., Connector]
"""Makes a ``Connector``; arguments as for ``SpaceRegistry``."""


class Clock:
    """Stands still until it is turned."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self.now

    def turn(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


class Server(AbstractContextManager["Server"]):
    """A listening socket. Connections are accepted when a test says so; the kernel completes 4096 without."""

    def __init__(self, host: str = "127.0.0.1", port: int = PORT, backlog: int = 4096) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, port), family=family, backlog=backlog)
        self._listener.settimeout(PATIENCE)
        self.address = (host, port)

    def accept(self) -> socket.socket:
        """The server's end of the longest-waiting connection."""
        sock, _ = self._listener.accept()
        sock.settimeout(PATIENCE)
        return sock

    def accept_all(self) -> None:
        """Accept and close whatever waits."""
        self._listener.setblocking(False)
        try:
            while True:
                self._listener.accept()[0].close()
        except BlockingIOError:
            self._listener.settimeout(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.close()


@contextmanager
def serving(server: Server, handle: Callable[[socket.socket], None]) -> Generator[None, None, None]:
    """Accept in a thread, and handle each connection there, until the block ends."""
    ending = threading.Event()

    def loop() -> None:
        while True:
            with server.accept() as sock:
                if ending.is_set():
                    return
                handle(sock)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        with socket.create_connection(server.address, PATIENCE) as last:
            sockopt.reset_on_close(last)
            thread.join(PATIENCE)


def hang_up(sock: socket.socket) -> None:
    """Close first, so that the TIME_WAIT is the server's."""
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(4096):
        pass


def echo(sock: socket.socket) -> None:
    """Send back what comes, until the client closes."""
    while data := sock.recv(4096):
        sock.sendall(data)


def close_after_peer(sock: socket.socket, peer: socket.socket) -> None:
    """Close ``sock`` after its peer did: the port is free at once."""
    peer.close()
    sock.settimeout(PATIENCE)
    assert sock.recv(1) == b""
    sock.close()


def fill(connector: Connector, server: Server, stack: ExitStack) -> list[Socket]:
    """Connect until no port is left."""
    socks: list[Socket] = []
    try:
        while True:
            socks.append(stack.enter_context(connector.create_connection(server.address)))
    except PortsExhausted:
        return socks


def reset(*socks: socket.socket) -> None:
    """Close with RST, which leaves nothing in the kernel."""
    for sock in socks:
        sockopt.reset_on_close(sock)
        sock.close()


def until(true: Callable[[], object]) -> None:
    """Wait for something that nobody announces, such as the kernel's end of a connection."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"this never came true: {true}")
        os.sched_yield()


def states_towards(port: int = PORT) -> dict[int, TcpState]:
    """State by local port of the sockets in this namespace that are connected, or were, to remote ``port``."""
    found: dict[int, TcpState] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/thread-self/net/{table}").read_text().splitlines()[1:]:
            _, local, remote, state, *_ = line.split()
            if int(remote.rpartition(":")[2], 16) == port:
                found[int(local.rpartition(":")[2], 16)] = TcpState(int(state, 16))
    return found


def port_of(sock: socket.socket) -> int:
    """The local port."""
    return sock.getsockname()[1]


def census(connector: Connector) -> Census:
    """The ports by state of a connector that has one space."""
    (space,) = connector.statistics().spaces
    return space.ports


def counts(connector: Connector) -> Counts:
    """The events of a connector."""
    return connector.statistics().counts


def leased(connector: Connector) -> int:
    """The ports on loan in all spaces."""
    return sum(space.ports.leased for space in connector.statistics().spaces)


def open_files() -> set[str]:
    """The descriptors of this process, each with what it is."""
    found: set[str] = set()
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{fd}: {os.readlink(f'/proc/self/fd/{fd}')}")
        except FileNotFoundError:
            # The listing's own.
            continue
    return found
