"""Starts the sinks of one destination."""

from __future__ import annotations

import errno
import itertools
import math
import socket
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager

from fourtuple.errors import Unsupported
from fourtuple.linux.addresses import family_of
from fourtuple.linux.limits import file_limit
from fourtuple.linux.sysctl import PortRange, local_port_range

Address = tuple[str, int]

# listen() cuts it to net.core.somaxconn. A SYN that meets a full queue is dropped and costs its
# sender a second.
_BACKLOG = 65535


@contextmanager
def sinks(host: str, connections: int) -> Generator[Address, None, None]:
    """Listen on the local address ``host`` with enough processes for ``connections`` connections.

    Yields the destination. Its port lies outside the local port range where there is room, since a
    listener takes its port from every connection that leaves the same address. Raises
    ``Unsupported`` when this machine has no such address, as it is with ``::1`` where IPv6 is off.
    """
    address = host, _free_port(host, _ports_to_listen_on(local_port_range()))
    with ExitStack() as stack:
        for listener in [_server(address, reuse_port=True) for _ in range(sinks_needed(connections))]:
            stack.enter_context(_sink(listener))
        yield address


def sinks_needed(connections: int) -> int:
    """How many sinks hold ``connections`` connections within this process's limit of open files.

    SO_REUSEPORT spreads connections by a hash, so each sink is given half of what it could hold.
    """
    limit, _ = file_limit()
    return max(1, math.ceil(connections / (limit // 2)))


def _ports_to_listen_on(local: PortRange) -> Iterable[int]:
    # Below the range, then above it; 0 at last, a port of the range itself.
    return itertools.chain(range(local.low - 1, 1023, -1), range(local.high + 1, 65536), [0])


def _free_port(host: str, candidates: Iterable[int]) -> int:
    # Tried without SO_REUSEPORT, which would share the port of another world's sinks.
    for port in candidates:
        try:
            with _server((host, port), reuse_port=False) as server:
                return server.getsockname()[1]
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise Unsupported(
                    error.errno or 0, f"the address {host}", "measure the other family of addresses"
                ) from error
    raise OSError(errno.EADDRINUSE, f"every port of {host} is taken")


def _server(address: Address, *, reuse_port: bool) -> socket.socket:
    return socket.create_server(address, family=family_of(address[0]), backlog=_BACKLOG, reuse_port=reuse_port)


@contextmanager
def _sink(listener: socket.socket) -> Generator[None, None, None]:
    # A process group of its own keeps Ctrl-C from it: it ends with its parent's end of the pipe.
    command = [sys.executable, "-P", "-m", "fourtuple.load.sink"]
    with listener:
        process = subprocess.Popen(command, stdin=listener.fileno(), stdout=subprocess.PIPE, process_group=0)
    with process:
        yield
