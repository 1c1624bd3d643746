"""What connect() does when no port is left."""

from __future__ import annotations

import errno
import time
from array import array
from dataclasses import dataclass

from fourtuple.load.choosers import kernel_chooses
from fourtuple.load.connections import Connections
from fourtuple.load.places import Existing
from fourtuple.load.world import open_world


@dataclass(frozen=True, slots=True)
class Refusals:
    """The nanoseconds after which each attempt was refused, and the classes of the errors."""

    took: array[int]
    errors: frozenset[str]


def exhaust(connections: Connections, left: int, attempts: int) -> Refusals:
    """Have another process hold the last ``left`` ports, then try to connect, ``attempts`` times.

    The other process lets the kernel choose, so its ports are strangers to this one. Raises
    ``RuntimeError`` if an attempt succeeds: then ports were left.
    """
    with open_world(kernel_chooses, Existing(connections.address)) as other:
        other.ask(Connections.grow, left)
        refused = [_refused(connections) for _ in range(attempts)]
    return Refusals(array("q", (took for took, _ in refused)), frozenset(name for _, name in refused))


def _refused(connections: Connections) -> tuple[int, str]:
    began = time.perf_counter_ns()
    try:
        connections.way.connect(connections.address).close()
    except OSError as error:
        took = time.perf_counter_ns() - began
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        return took, type(error).__name__
    raise RuntimeError(f"{len(connections)} connections held and a port was still left")
