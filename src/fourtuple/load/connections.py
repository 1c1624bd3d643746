"""The workload: connections held to one destination, one of which is closed and replaced at a time.

They are closed by reset (SO_LINGER with no time, as neper's tcp_crr does), so their ports are free
at once and no TIME_WAIT takes part, neither during the measurement nor after it.
"""

from __future__ import annotations

import random
import socket
import time
from array import array

from fourtuple.linux.sockopt import reset_on_close
from fourtuple.load.choosers import Way
from fourtuple.load.sinks import Address


class Connections:
    """Connections to ``address``, each made in the same ``way``. Closed as a whole by ``close``."""

    def __init__(self, address: Address, way: Way) -> None:
        self.address = address
        self.way = way
        self._held: list[socket.socket] = []
        self._random = random.Random(0)

    def __len__(self) -> int:
        return len(self._held)

    def grow(self, count: int) -> None:
        """Connect ``count`` more. Raises what connect raises, and keeps those already made."""
        for _ in range(count):
            connection = self.way.connect(self.address)
            reset_on_close(connection)
            self._held.append(connection)

    def replace(self, operations: int) -> array[int]:
        """Close one at random and connect one, ``operations`` times.

        Returns the nanoseconds that each connect took; closing is not in them.
        """
        return array("q", (self._replace_one() for _ in range(operations)))

    def close(self) -> None:
        """Close every connection held."""
        while self._held:
            self._held.pop().close()

    def _replace_one(self) -> int:
        index = self._random.randrange(len(self._held))
        self._held[index].close()
        began = time.perf_counter_ns()
        connection = self.way.connect(self.address)
        took = time.perf_counter_ns() - began
        reset_on_close(connection)
        self._held[index] = connection
        return took
