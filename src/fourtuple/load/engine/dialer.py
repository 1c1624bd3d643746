"""How the flows of a ring connect: a socket at the flow's index, its options, its source, then connect().

All of it is asked for at once, and whatever fails comes back by its tag; the requests after it fail too, or succeed to
no use. Options, addresses and values are copied to memory that stays.
"""

from __future__ import annotations

import socket
import struct
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux.sockopt import RESET_LINGER

from .ring import Ring

if TYPE_CHECKING:
    from .client import Flows

_NO_PORT = (socket.SOL_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
_RESET = (socket.SOL_SOCKET, socket.SO_LINGER, RESET_LINGER)


class Dialer:
    """Connects flows over ``ring``, a ring of theirs. Tags are the caller's, of the socket with its options, and of its
    connect().

    Raises ``ValueError`` for flows with lanes: which port a socket in the ring's table got can not be asked (no
    getsockname() up to Linux 6.18 at least), and a port that was proposed and not taken would go unnoticed. And what
    `Ring` raises.
    """

    def __init__(self, flows: Flows) -> None:
        if flows.lanes is not None:
            raise ValueError(
                "flows: lanes: over io_uring the kernel chooses the ports, since it does not tell which it took; leave "
                "the lanes out, or use the epoll engine"
            )
        self.ring = Ring(len(flows.destination_of))
        self._family = flows.family
        options = [*([_RESET] if flows.reset else []), *flows.options, *([_NO_PORT] if flows.sources else [])]
        values = [struct.pack("i", value) if isinstance(value, int) else value for _, _, value in options]
        self._count = len(options)
        self._level = array("i", [level for level, _, _ in options])
        self._name = array("i", [name for _, name, _ in options])
        self._size = array("i", map(len, values))
        memory = array("B", b"".join([*values, *flows.destinations, *flows.sources]))
        self._memory = memory
        self._values = memory.buffer_info()[0]
        self._destinations = self._values + sum(map(len, values))
        self._address_size = len(flows.destinations[0])
        self._sources = self._destinations + self._address_size * len(flows.destinations)
        self._destination_of = array("i", flows.destination_of)
        self._source_of = array("i", flows.source_of)

    def prepare(self, flow: int, tag: int) -> None:
        """Ask for the socket, its options and its source."""
        self.ring.open_socket(flow, self._family, tag)
        value = self._values
        for place in range(self._count):
            self.ring.set_option(flow, self._level[place], self._name[place], value, self._size[place], tag)
            value += self._size[place]
        if self._source_of[flow] >= 0:
            self.ring.bind(flow, self._sources + self._source_of[flow] * self._address_size, self._address_size, tag)

    def connect(self, flow: int, tag: int) -> None:
        """Ask for the connection, whose result comes back."""
        self.ring.connect(flow, self._destination(flow), self._address_size, tag)

    def connect_quietly(self, flow: int, tag: int) -> None:
        """Ask for the connection, whose result comes back when it fails."""
        self.ring.connect_quietly(flow, self._destination(flow), self._address_size, tag)

    def _destination(self, flow: int) -> int:
        return self._destinations + self._destination_of[flow] * self._address_size
