"""tcp_rr's client over io_uring: a request and the wait for its response are one submission.

A connection that ends while no request is under way is found out by the next one.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from .client import Client, Flows
from .dialer import Dialer
from .ring import signed
from .rr import RrClient

if TYPE_CHECKING:
    from .arrivals import Arrivals

# A tag: the flow, then 3 bits for the request.
_PREPARATION = 0
_CONNECT = 1
_SEND = 2
_RECEIVE = 3
_CLOSE = 4


class UringRrClient(RrClient):
    """`RrClient` over io_uring, with the same arguments. ``flows.lanes`` has to be None.

    Raises ``ValueError`` for lanes and for more flows than the process may open files, ``Unsupported`` where the kernel
    has no such io_uring.
    """

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
        self._dialer = Dialer(flows)
        self._ring = self._dialer.ring
        super().__init__(
            flows, request=request, response=response, delay=delay, limit=limit, arrivals=arrivals, log=log
        )
        data = array("B", bytes(max(request, response)))
        self._data = data
        self._data_address = data.buffer_info()[0]
        self._wrong = array("i", bytes(4 * self.flows))

    def run(self, gate: int = -1) -> None:
        """`Loop.run`. Raises ``Unsupported`` where the kernel does not let this thread use the ring."""
        self._ring.enable()
        RrClient.run(self, gate)

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
        self._fd[slot] = slot
        self._dialer.prepare(slot, slot << 3 | _PREPARATION)
        self._dialer.connect(slot, slot << 3 | _CONNECT)
        return 0

    def _write(self, slot: int) -> int:
        self._sent[slot] = self._request
        self._ring.send(slot, self._data_address, self._request, slot << 3 | _SEND)
        self._ring.receive(slot, self._data_address, self._response, slot << 3 | _RECEIVE)
        return 0

    def _ready(self, slot: int, events: int) -> None:
        flow = slot >> 3
        kind = slot & 7
        result = signed(events)
        if kind == _PREPARATION or kind == _SEND:
            # The first failure is the cause, and the request that comes back in any case tells of it.
            if self._wrong[flow] == 0:
                self._wrong[flow] = result
        elif kind == _CONNECT or kind == _RECEIVE:
            expected = self._response if kind == _RECEIVE else 0
            if self._wrong[flow] < 0 or result != expected:
                self._die(flow, self._wrong[flow] if self._wrong[flow] else min(result, 0))
            elif kind == _CONNECT:
                self._connected(flow)
            else:
                self._complete(flow)

    def _hang_up(self, slot: int) -> None:
        if self._fd[slot] >= 0:
            self._fd[slot] = -1
            self._ring.close_socket(slot, _CLOSE)

    def _finish(self) -> None:
        # The connections stand in the ring's table, and go with it.
        pass
