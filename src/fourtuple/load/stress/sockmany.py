"""sockmany: connections over IPv4 loopback, as many as a process may hold, closed all at once, over and over.

An instance is two processes, as with stress-ng: a server, `fourtuple.load.stress.server`, and a client with a limit of
open files of its own, `fourtuple.load.stress.client`.
"""

from __future__ import annotations

import errno
import math
import os
import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Final

from fourtuple.errors import FourtupleError, Unsupported
from fourtuple.linux.addresses import packed
from fourtuple.linux.features import has_local_port_range
from fourtuple.load.spaces import open_lanes

from . import client, server
from .cells import Cells, ClientCell, ServerCell, failures
from .client import ChoosingClient, Client
from .metrics import Metrics
from .run import Role, Run, opening_files, started
from .server import Server

FIRST_PORT: Final = 51712
"""stress-ng's default: the port of the first instance."""
LOWEST_PORT: Final = 1024
"""The lowest port that stress-ng takes."""
LARGEST_MESSAGE: Final = 32768
"""The most bytes that stress-ng lets a server send."""

_PORTS = 65536 - LOWEST_PORT
_BACKLOG = 10
_SYN_RETRIES = 2
_USER_TIMEOUT = 500  # milliseconds


class Ports(Enum):
    """Who chooses the ports of the client's connections."""

    KERNEL = "kernel"
    FOURTUPLE = "fourtuple"


class PortInUse(FourtupleError, OSError):
    """A port that an instance listens on belongs to another socket (``errno`` is ``EADDRINUSE``)."""

    def __init__(self, host: str, port: int) -> None:
        self.host = host
        self.port = port
        super().__init__(
            errno.EADDRINUSE,
            f"port {port} of {host} is in use ({os.strerror(errno.EADDRINUSE)}): end what has it (ss -tnap '( sport = "
            f":{port} )' shows it), or let the instances listen from another port on (--sockmany-port)",
        )

    def __reduce__(self) -> tuple[type[PortInUse], tuple[str, int]]:
        return type(self), (self.host, self.port)


@dataclass(frozen=True, slots=True)
class Sockmany:
    """What to run: ``instances``, of which number n listens on ``host`` and ``port`` + n.

    ``operations`` bogo operations of all instances together end the run, 0 for never. ``size`` is in bytes: what the
    server sends over each connection. Ports past 65535 go on at 1024.

    Raises ValueError that names the argument.
    """

    instances: int = 1
    operations: int = 0
    host: str = "127.0.0.1"
    port: int = FIRST_PORT
    size: int = 8
    ports: Ports = Ports.KERNEL

    def __post_init__(self) -> None:
        for name, least, most in (
            ("instances", 1, _PORTS),
            ("operations", 0, 1 << 62),
            ("port", LOWEST_PORT, 65535),
            ("size", 1, LARGEST_MESSAGE),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} must be {least} to {most}, not {value}")

    def listening_ports(self) -> list[int]:
        """The port of each instance."""
        return [LOWEST_PORT + (self.port - LOWEST_PORT + number) % _PORTS for number in range(self.instances)]


@dataclass(frozen=True, slots=True)
class SockmanyReport:
    """What came of a run, of all instances together.

    ``connections`` brought data, in ``rounds`` that came to their end; ``most_held`` were open in one client at once.
    ``failures`` counts by system call and error. ``kernel_choices`` are connections whose port the kernel chose
    although fourtuple was to choose, ``refused_ports`` ports that the kernel did not take.
    """

    metrics: Metrics
    connections: int
    rounds: int
    most_held: int
    failures: dict[str, dict[str, int]]
    ports: Ports
    kernel_choices: int
    refused_ports: int

    def document(self) -> dict[str, Any]:
        """What is no metric of stress-ng's, for JSON; all are counts."""
        return {
            "connections": self.connections,
            "rounds": self.rounds,
            "most_held": self.most_held,
            "failures": self.failures,
            "ports": {
                "chosen_by": self.ports.value,
                "kernel_choices": self.kernel_choices,
                "refused": self.refused_ports,
            },
        }


@dataclass(frozen=True, slots=True)
class SockmanyRun:
    """Instances that run. See `open_sockmany`."""

    settings: Sockmany
    run: Run

    def bogo_ops(self) -> int:
        """The bogo operations until now."""
        return sum(row[ServerCell.ACCEPTED] for row in self.run.rows("server"))

    def report(self) -> SockmanyReport:
        """End the run and tell what came of it."""
        ending = self.run.stop()
        clients, servers = self.run.rows("client"), self.run.rows("server")
        return SockmanyReport(
            Metrics("sockmany", self.settings.instances, self.bogo_ops(), ending),
            connections=sum(row[ClientCell.CONNECTIONS] for row in clients),
            rounds=sum(row[ClientCell.ROUNDS] for row in clients),
            most_held=max(row[ClientCell.MOST_HELD] for row in clients),
            failures=failures(clients, client.FAILURES) | failures(servers, server.FAILURES),
            ports=self.settings.ports,
            kernel_choices=sum(row[ClientCell.KERNEL_CHOICES] for row in clients),
            refused_ports=sum(row[ClientCell.REFUSED_PORTS] for row in clients),
        )


@contextmanager
def open_sockmany(settings: Sockmany) -> Generator[SockmanyRun, None, None]:
    """Have the instances run for the length of a ``with`` block, in the network namespace of the calling thread.

    Raises ``PortInUse``, ``Unsupported`` if fourtuple is to choose ports and cannot, what else listening raises, and
    what `fourtuple.load.stress.run.started` raises.
    """
    if settings.ports is Ports.FOURTUPLE and not has_local_port_range():
        raise Unsupported(
            errno.ENOPROTOOPT, "the one-port range (IP_LOCAL_PORT_RANGE)", "leave the ports to the kernel"
        )
    most = math.ceil(settings.operations / settings.instances)
    with ExitStack() as listening:
        crews: list[list[Role]] = []
        for port in settings.listening_ports():
            with opening_files(settings.instances):
                descriptor = listening.enter_context(_listener(settings.host, port)).fileno()
            address = packed(socket.AF_INET, (settings.host, port))
            crews.append(
                [
                    Role("server", partial(Server, descriptor, settings.size, most), descriptor),
                    Role("client", partial(_CLIENTS[settings.ports], address, settings.size)),
                ]
            )
        with started(crews) as run:
            yield SockmanyRun(settings, run)


def _listener(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, _SYN_RETRIES)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _USER_TIMEOUT)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(host, port) from error
        raise
    return listener


def _choosing_client(address: bytes, size: int, cells: Cells) -> ChoosingClient:
    # With a port space that its process makes for itself.
    return ChoosingClient(address, size, open_lanes([socket.inet_ntoa(address[4:8])], []), cells)


_CLIENTS = {Ports.KERNEL: Client, Ports.FOURTUPLE: _choosing_client}
