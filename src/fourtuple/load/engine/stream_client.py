"""The connecting side of tcp_stream."""

from __future__ import annotations

import select
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .client import Client, Flows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .stream import Stream

_OUT = select.EPOLLOUT
_ESTABLISHED = 1


class StreamClient(Client):
    """tcp_stream's client in one thread. ``directions`` are those of each flow, ``READ``, ``WRITE`` or their sum.

    ``done`` counts the bytes that each flow read; those of all are in ``stream``, and ``transactions`` stays 0. A flow
    whose connection ends or breaks is dead.
    """

    def __init__(self, flows: Flows, stream: Stream, directions: Sequence[int]) -> None:
        super().__init__(flows)
        if len(directions) != self.flows:
            raise ValueError(f"directions are {len(directions)} for {self.flows} flows")
        self.stream = stream
        self._directions = array("i", directions)
        self._connecting = array("B", bytes(self.flows))

    def close(self) -> None:
        """Close what the loop and the stream opened. Call it when run() has returned."""
        super().close()
        self.stream.close()

    def _awaits_connection(self, slot: int) -> bool:
        return self._fd[slot] >= 0 and self._connecting[slot] != 0

    def _begin(self, slot: int) -> None:
        self._dialled[slot] = libc.now()
        code = self._dial(slot)
        if code == 0:
            self._connecting[slot] = 1
            code = libc.watch(self.epoll, self._fd[slot], _OUT, slot)
        # Over loopback connect() does it all, and the loop may look for events much later.
        if code == 0 and libc.tcp_info_head(self._fd[slot]) & 0xFF == _ESTABLISHED:
            code = self._connected(slot)
        if code < 0:
            self._die(slot, code)

    def _ready(self, slot: int, events: int) -> None:
        if self._connecting[slot]:
            code = self._connected(slot)
        else:
            code = self.stream.serve(self, self._fd[slot], slot, events, self._directions[slot], self.done)
        if code <= 0:
            self._die(slot, code)

    def _connected(self, slot: int) -> int:
        # 1 once the stream has begun, or -errno.
        code = -libc.pending_error(self._fd[slot])
        if code < 0:
            return code
        self.connecting.record(libc.now() - self._dialled[slot])
        self._connecting[slot] = 0
        code = libc.rewatch(self.epoll, self._fd[slot], self.stream.events(self._directions[slot]), slot)
        return code or 1
