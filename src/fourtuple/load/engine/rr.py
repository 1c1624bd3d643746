"""Request, response: the client of tcp_rr, whose flows keep their connections.

``delay`` spaces the transactions of each flow: they start on a grid of that many nanoseconds from the loop's start, and
one that is late starts at once and keeps to the grid after. A connection that breaks leaves its flow dead.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .client import Client, Flows

if TYPE_CHECKING:
    from .arrivals import Arrivals

_IN = 0x1
_OUT = 0x4
_EAGAIN = 11
_ESTABLISHED = 1

# How far a flow's connection is: there and going on, on its way, or there and told so.
_THERE = 0
_AWAITED = 1
_MEASURED = 2


class RrClient(Client):
    """tcp_rr's client: ``request`` and ``response`` in bytes, above 0; ``delay`` in nanoseconds, 0 for none."""

    def __init__(
        self,
        flows: Flows,
        *,
        request: int,
        response: int,
        delay: int = 0,
        limit: int = 0,
        arrivals: Arrivals | None = None,
        log: int = 0,
    ) -> None:
        super().__init__(flows, limit=limit, arrivals=arrivals, log=log)
        self._request = request
        self._response = response
        self._delay = delay
        self._buffer = array("B", bytes(max(request, response)))
        self._sent = array("i", bytes(4 * self.flows))
        self._got = array("i", bytes(4 * self.flows))
        self._requested = array("q", bytes(8 * self.flows))
        self._due = array("q", bytes(8 * self.flows))
        # Flows that wait for their time.
        self._waiting = array("i", bytes(4 * self.flows))
        self._waiting_count = 0
        self._connecting = array("B", bytes(self.flows))

    def _awaits_connection(self, slot: int) -> bool:
        return self._fd[slot] >= 0 and self._connecting[slot] == _AWAITED

    def _admit(self, slot: int, moment: int) -> None:
        self._dialled[slot] = libc.now()
        self._due[slot] = moment
        self._connecting[slot] = _AWAITED
        code = self._open(slot)
        if code < 0:
            self._die(slot, code)

    def _open(self, slot: int) -> int:
        # Begin to connect: 0, or -errno.
        code = self._dial(slot)
        if code == 0:
            code = libc.watch(self.epoll, self._fd[slot], _IN | _OUT, slot)
        # Over loopback connect() does it all, and the loop may look for events much later.
        if code == 0 and libc.tcp_info_head(self._fd[slot]) & 0xFF == _ESTABLISHED:
            self._connecting[slot] = _MEASURED
            self.connecting.record(libc.now() - self._dialled[slot])
        return code

    def _pass_time(self) -> int:
        timeout = Client._pass_time(self)
        if self._waiting_count == 0:
            return timeout
        moment = libc.now()
        place = 0
        while place < self._waiting_count:
            slot = self._waiting[place]
            rest = self._due[slot] - moment
            if rest <= 0:
                self._waiting_count -= 1
                self._waiting[place] = self._waiting[self._waiting_count]
                self._begun[slot] = moment
                self._begin(slot)
                continue
            if timeout < 0 or rest < timeout:
                timeout = rest
            place += 1
        return timeout

    def _go_on(self, slot: int, moment: int) -> None:
        if self._delay and self._due[slot] > moment:
            self._waiting[self._waiting_count] = slot
            self._waiting_count += 1
        else:
            Client._go_on(self, slot, moment)

    def _begin(self, slot: int) -> None:
        self._due[slot] += self._delay
        self._sent[slot] = 0
        self._got[slot] = 0
        self._requested[slot] = libc.now()
        code = self._write(slot)
        if code == 0 and self._sent[slot] < self._request:
            code = libc.rewatch(self.epoll, self._fd[slot], _IN | _OUT, slot)
        if code < 0:
            self._die(slot, code)

    def _write(self, slot: int) -> int:
        sent = libc.send(self._fd[slot], self._buffer, 0, self._request - self._sent[slot], 0)
        if sent < 0:
            return 0 if sent == -_EAGAIN else sent
        self._sent[slot] += sent
        return 0

    def _ready(self, slot: int, events: int) -> None:
        if self._connecting[slot]:
            self._look_at_connection(slot)
            return
        if self._sent[slot] < self._request:
            code = self._write(slot)
            if code == 0 and self._sent[slot] == self._request:
                code = libc.rewatch(self.epoll, self._fd[slot], _IN, slot)
            if code < 0:
                self._die(slot, code)
            return
        got = libc.receive(self._fd[slot], self._buffer, 0, self._response - self._got[slot], 0)
        if got > 0:
            self._got[slot] += got
            if self._got[slot] == self._response:
                self._complete(slot)
        elif got != -_EAGAIN:
            self._die(slot, got)

    def _complete(self, slot: int) -> None:
        moment = libc.now()
        self.requesting.record(moment - self._requested[slot])
        self._count(slot, moment)
        if not self.stopped:
            self._go_on(slot, moment)

    def _look_at_connection(self, slot: int) -> None:
        code = -libc.pending_error(self._fd[slot])
        if code == 0:
            code = libc.rewatch(self.epoll, self._fd[slot], _IN, slot)
        if code < 0:
            self._die(slot, code)
        else:
            self._connected(slot)

    def _connected(self, slot: int) -> None:
        moment = libc.now()
        if self._connecting[slot] == _AWAITED:
            self.connecting.record(moment - self._dialled[slot])
        self._connecting[slot] = _THERE
        self._go_on(slot, moment)
