"""Where a workload takes place: the network it sees and the destination it connects to."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from fourtuple.linux.netns import network_namespace, obtain_namespaces
from fourtuple.linux.sysctl import PortRange
from fourtuple.load.sinks import Address, sinks


class Place(Protocol):
    """Somewhere with a destination to connect to."""

    def enter(self) -> AbstractContextManager[Address]:
        """Move there and yield the destination, which lasts until the block is left."""
        ...


@dataclass(frozen=True, slots=True)
class Loopback:
    """The network the process is in, and sinks on ``host`` for ``connections`` connections."""

    host: str
    connections: int

    @contextmanager
    def enter(self) -> Generator[Address, None, None]:
        """Start the sinks. Raises ``Unsupported`` without such an address."""
        with sinks(self.host, self.connections) as address:
            yield address


@dataclass(frozen=True, slots=True)
class PrivateNetwork:
    """``loopback`` in a new network namespace with ``ports`` as its local port range."""

    ports: PortRange
    loopback: Loopback

    @contextmanager
    def enter(self) -> Generator[Address, None, None]:
        """Move the calling thread. Raises ``NamespacesRefused`` where the kernel grants none."""
        obtain_namespaces()
        with network_namespace(port_range=self.ports), self.loopback.enter() as address:
            yield address


@dataclass(frozen=True, slots=True)
class Existing:
    """The network the process is in, and a destination that is there already."""

    address: Address

    @contextmanager
    def enter(self) -> Generator[Address, None, None]:
        """Change nothing."""
        yield self.address
