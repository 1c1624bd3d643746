"""connect() at a level of occupancy, over and over: what it does in a version."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum

from .kernel import Kernel
from .randomness import Randomness
from .settings import Settings
from .sockets import SockAddress, Socket
from .trace import Step, Trace
from .versions import version


class Filling(Enum):
    """How the connections that are there before were spread over the range."""

    KERNEL = "kernel"
    EVENLY = "evenly"


@dataclass(frozen=True, slots=True)
class Experiment:
    """``flows`` connections to one destination from the ports ``low`` to ``high``, then ``connects`` more.

    Before each of these one of the flows, chosen at random, is reset, so that the level stays. Raises ValueError for
    an impossible range, more flows than ports, and less than one connect.
    """

    low: int = 10000
    high: int = 29999
    flows: int = 15000
    connects: int = 100
    family: int = socket.AF_INET
    filling: Filling = Filling.KERNEL
    seed: int = 1

    def __post_init__(self) -> None:
        Settings(ip_local_port_range=(self.low, self.high))
        ports = self.high - self.low + 1
        if not 1 <= self.flows <= ports:
            raise ValueError(f"flows: 1 to {ports} fit into the ports {self.low} to {self.high}, not {self.flows}")
        if self.connects < 1:
            raise ValueError(f"connects: 1 or more, not {self.connects}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The traces of an experiment's connects in a version, in order, and the steps of the last."""

    version: str
    traces: tuple[Trace, ...]
    steps: tuple[Step, ...]


def run(name: str, experiment: Experiment) -> Outcome:
    """Run an experiment on the version ``name``. Raises ValueError for an unknown one or an impossible range."""
    kernel = Kernel(version(name), seed=experiment.seed)
    kernel.configure(ip_local_port_range=(experiment.low, experiment.high))
    held = fill(kernel, experiment)
    chance = Randomness(experiment.seed)
    traces: list[Trace] = []
    place = 0
    for left in reversed(range(experiment.connects)):
        kernel.recording = left == 0
        place = chance.below(len(held))
        held[place].reset()
        held[place] = _connected(kernel, experiment)
        traces.append(held[place].trace)
    return Outcome(name, tuple(traces), held[place].steps)


def fill(kernel: Kernel, experiment: Experiment) -> list[Socket]:
    """Make the flows of an experiment."""
    if experiment.filling is Filling.KERNEL:
        return [_connected(kernel, experiment) for _ in range(experiment.flows)]
    ports = experiment.high - experiment.low + 1
    held: list[Socket] = []
    for flow in range(experiment.flows):
        # A range of one port at a time, so that the buckets are those of connect().
        kernel.configure(ip_local_port_range=(experiment.low + flow * ports // experiment.flows,) * 2)
        held.append(_connected(kernel, experiment))
    kernel.configure(ip_local_port_range=(experiment.low, experiment.high))
    return held


def _connected(kernel: Kernel, experiment: Experiment) -> Socket:
    sock = kernel.socket(experiment.family)
    server: SockAddress = ("127.0.0.1", 80) if experiment.family == socket.AF_INET else ("::1", 80)
    sock.connect(server)
    return sock
