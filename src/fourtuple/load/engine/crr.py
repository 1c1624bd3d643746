"""Connect, request, response: the client of tcp_crr, a connection for each transaction.

A non-blocking connect() over loopback is complete when it returns, though it says EINPROGRESS; elsewhere the request
has to wait. Sending it at once costs one call that fails where it must wait, and saves two calls where it need not:
the wait for the connection, and the change from waiting for that to waiting for the response.
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
_EPIPE = 32
_ECONNRESET = 104


class CrrClient(Client):
    """tcp_crr's client: ``request`` and ``response`` are the sizes in bytes; 0 is allowed for neither."""

    def __init__(
        self,
        flows: Flows,
        *,
        request: int,
        response: int,
        limit: int = 0,
        arrivals: Arrivals | None = None,
        log: int = 0,
    ) -> None:
        super().__init__(flows, limit=limit, arrivals=arrivals, log=log)
        self._request = request
        self._response = response
        self._buffer = array("B", bytes(max(request, response)))
        self._sent = array("i", bytes(4 * self.flows))
        self._got = array("i", bytes(4 * self.flows))
        self._connected = array("q", bytes(8 * self.flows))
        self._broken = array("i", bytes(4 * self.flows))
        self._broken_count = 0

    def _awaits_connection(self, slot: int) -> bool:
        return self._fd[slot] >= 0 and self._connected[slot] == 0 and self.done[slot] == 0

    def _begin(self, slot: int) -> None:
        self._dialled[slot] = libc.now()
        self._connected[slot] = 0
        self._sent[slot] = 0
        self._got[slot] = 0
        code = self._open(slot)
        if code < 0:
            self._give_up(slot, code)

    def _open(self, slot: int) -> int:
        # Connect and send: 0, or -errno.
        code = self._dial(slot)
        if code == 0:
            code = self._write(slot)
        if code == 0:
            waiting = self._sent[slot] < self._request
            code = libc.watch(self.epoll, self._fd[slot], _IN | _OUT if waiting else _IN, slot)
        return code

    def _write(self, slot: int) -> int:
        sent = libc.send(self._fd[slot], self._buffer, 0, self._request - self._sent[slot], 0)
        if sent < 0:
            return 0 if sent == -_EAGAIN else sent
        if self._connected[slot] == 0:
            self._connected[slot] = libc.now()
            self.connecting.record(self._connected[slot] - self._dialled[slot])
        self._sent[slot] += sent
        return 0

    def _ready(self, slot: int, events: int) -> None:
        if self._sent[slot] < self._request:
            code = self._write(slot)
            if code < 0:
                self._give_up(slot, code)
            elif self._sent[slot] == self._request:
                libc.rewatch(self.epoll, self._fd[slot], _IN, slot)
            return
        got = libc.receive(self._fd[slot], self._buffer, 0, self._response - self._got[slot], 0)
        if got > 0:
            self._got[slot] += got
            if self._got[slot] == self._response:
                self._complete(slot)
        elif got != -_EAGAIN:
            self._break(slot, got)

    def _complete(self, slot: int) -> None:
        moment = libc.now()
        self.requesting.record(moment - self._connected[slot])
        self._count(slot, moment)
        self._hang_up(slot)
        self.closing.record(libc.now() - moment)
        if not self.stopped:
            self._go_on(slot, moment)

    def _give_up(self, slot: int, code: int) -> None:
        # Sending failed: there was a connection, or there never was one.
        if self._connected[slot] or code == -_ECONNRESET or code == -_EPIPE:
            self._break(slot, code)
        else:
            self._die(slot, code)

    def _break(self, slot: int, code: int) -> None:
        # The connection is over before its time: count it, and make another. In a closed loop the latency goes on. Not
        # at once, since that could break too, and so on.
        self._fail(code)
        self._hang_up(slot)
        if self._open_loop:
            self._go_on(slot, 0)
        else:
            self._broken[self._broken_count] = slot
            self._broken_count += 1

    def _pass_time(self) -> int:
        # Those that break again meanwhile wait for the next time.
        count = self._broken_count
        self._broken_count = 0
        for place in range(count):
            self._begin(self._broken[place])
        timeout = Client._pass_time(self)
        return 0 if self._broken_count else timeout
