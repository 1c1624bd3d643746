"""What choosing a port costs where the kernel finds one at once."""

from __future__ import annotations

import socket
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field

from fourtuple.linux.sockopt import reset_on_close
from fourtuple.load.connections import Connections
from fourtuple.load.sinks import Address


def _nanoseconds() -> array[int]:
    return array("q")


@dataclass(frozen=True, slots=True)
class Cycles:
    """For each connection the nanoseconds of connect alone, and with closing."""

    connect: array[int] = field(default_factory=_nanoseconds)
    whole: array[int] = field(default_factory=_nanoseconds)

    def add(self, connect: Callable[[Address], socket.socket], address: Address) -> None:
        """Connect and close once."""
        began = time.perf_counter_ns()
        connection = connect(address)
        connected = time.perf_counter_ns()
        reset_on_close(connection)
        connection.close()
        self.whole.append(time.perf_counter_ns() - began)
        self.connect.append(connected - began)


def compare_with_plain(connections: Connections, pairs: int) -> tuple[Cycles, Cycles]:
    """Connect with ``socket.create_connection`` and in the connections' own way, in turns.

    Returns the plain cycles and the others. Within a pair either comes first as often.
    """
    plain, chosen = Cycles(), Cycles()
    turns = [(plain, socket.create_connection), (chosen, connections.way.connect)]
    for _ in range(pairs):
        for cycles, connect in turns:
            cycles.add(connect, connections.address)
        turns.reverse()
    return plain, chosen
