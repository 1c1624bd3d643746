"""tcp_crr's client over io_uring: a whole transaction is one submission, without a wait between its parts.

So its parts can not be told apart: ``latency`` is measured, ``connecting``, ``requesting`` and ``closing`` stay empty.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .client import Client, Flows
from .crr import CrrClient
from .dialer import Dialer
from .ring import signed

if TYPE_CHECKING:
    from .arrivals import Arrivals

# A tag: the flow, then 4 bits that tell this connection of its from those before, then 3 bits for the request.
_CONNECTION = 1
_SEND = 2
_RECEIVE = 3
_CLOSE = 4


class UringCrrClient(CrrClient):
    """`CrrClient` over io_uring, with the same arguments. ``flows.lanes`` has to be None.

    Raises ``ValueError`` for lanes and for more flows than the process may open files, ``Unsupported`` where the kernel
    has no such io_uring.
    """

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
        self._dialer = Dialer(flows)
        self._ring = self._dialer.ring
        super().__init__(flows, request=request, response=response, limit=limit, arrivals=arrivals, log=log)
        data = array("B", bytes(max(request, response)))
        self._data = data
        self._data_address = data.buffer_info()[0]
        self._tag = array("i", [flow << 7 for flow in range(self.flows)])
        self._wrong = array("i", bytes(4 * self.flows))

    def run(self, gate: int = -1) -> None:
        """`Loop.run`. Raises ``Unsupported`` where the kernel does not let this thread use the ring."""
        self._ring.enable()
        CrrClient.run(self, gate)

    def close(self) -> None:
        """`Loop.close`."""
        super().close()
        self._ring.close()

    def _start(self) -> None:
        Client._start(self)
        self._ring.submit()

    def _wait(self, timeout: int) -> int:
        return self._ring.wait(self._slots, self._events, timeout)

    def _open(self, slot: int) -> int:
        self._tag[slot] = slot << 7 | (self._tag[slot] + 8 & 0x78)
        self._wrong[slot] = 0
        self._fd[slot] = slot
        tag = self._tag[slot]
        self._dialer.prepare(slot, tag | _CONNECTION)
        self._dialer.connect_quietly(slot, tag | _CONNECTION)
        self._ring.send(slot, self._data_address, self._request, tag | _SEND)
        self._ring.receive(slot, self._data_address, self._response, tag | _RECEIVE)
        return 0

    def _ready(self, slot: int, events: int) -> None:
        flow = slot >> 7
        if slot & ~7 != self._tag[flow]:
            # Of an earlier connection.
            return
        result = signed(events)
        if slot & 7 != _RECEIVE:
            # The first failure is the cause. The answer never comes then, and its request is the last to end.
            if self._wrong[flow] == 0:
                self._wrong[flow] = result
        elif self._wrong[flow] == 0 and result == self._response:
            self._complete(flow)
        else:
            code = self._wrong[flow] if self._wrong[flow] else min(result, 0)
            if code == 0:
                self._break(flow, 0)
            else:
                self._give_up(flow, code)

    def _complete(self, slot: int) -> None:
        moment = libc.now()
        self._count(slot, moment)
        self._hang_up(slot)
        if not self.stopped:
            self._go_on(slot, moment)

    def _hang_up(self, slot: int) -> None:
        if self._fd[slot] >= 0:
            self._fd[slot] = -1
            self._ring.close_socket(slot, _CLOSE)

    def _finish(self) -> None:
        # The connections stand in the ring's table, and go with it.
        pass
