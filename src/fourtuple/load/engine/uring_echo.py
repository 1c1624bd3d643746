"""The server of tcp_crr and tcp_rr over io_uring: connections are accepted by one request for all of them, and each
request and its answer are one linked pair, so a connection is served without the loop's doing between."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from fourtuple.linux.uring import table_size

from .loop import Loop
from .ring import Ring, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

# A tag: the connection's index, or the listener's place, then 3 bits for the request.
_ACCEPT = 1
_RECEIVE = 2
_SEND = 3
_CLOSE = 4

_ECONNRESET = 104


class UringEchoServer(Loop):
    """`EchoServer` over io_uring: the same arguments and counts.

    Connections are at most as many as the process may open files; one more than that is accepted and closed, and
    counted as ENFILE. Raises ``Unsupported`` where the kernel has no such io_uring.
    """

    def __init__(self, listeners: Sequence[int], *, request: int, response: int) -> None:
        self._ring = Ring(table_size())
        super().__init__()
        self.connections = 0
        self.open = 0
        self.most = 0
        self.transactions = 0
        self._request = request
        self._response = response
        data = array("B", bytes(max(request, response)))
        self._data = data
        self._data_address = data.buffer_info()[0]
        self._listeners = array("i", listeners)
        # Places of listeners at which nothing is accepted.
        self._deaf = array("i", range(len(listeners)))
        self._deaf_count = len(listeners)

    def run(self, gate: int = -1) -> None:
        """`Loop.run`. Raises ``Unsupported`` where the kernel does not let this thread use the ring."""
        self._ring.enable()
        Loop.run(self, gate)

    def close(self) -> None:
        """`Loop.close`."""
        super().close()
        self._ring.close()

    def _wait(self, timeout: int) -> int:
        return self._ring.wait(self._slots, self._events, timeout)

    def _start(self) -> None:
        self._listen()
        self._ring.submit()

    def _listen(self) -> None:
        while self._deaf_count:
            self._deaf_count -= 1
            place = self._deaf[self._deaf_count]
            self._ring.accept(self._listeners[place], place << 3 | _ACCEPT)

    def _ready(self, slot: int, events: int) -> None:
        tag = ~slot if slot < 0 else slot
        kind = tag & 7
        result = signed(events)
        if kind == _ACCEPT:
            if result >= 0:
                self._admit(result)
            else:
                self._fail(result)
            if slot >= 0:
                self._deaf[self._deaf_count] = tag >> 3
                self._deaf_count += 1
                if result >= 0 or self.open == 0:
                    self._listen()
        elif kind == _SEND and result == self._response:
            self.transactions += 1
            self._serve(tag >> 3)
        elif kind == _RECEIVE or kind == _SEND:
            self._end(tag >> 3, result)

    def _admit(self, index: int) -> None:
        self.connections += 1
        self.open += 1
        self.most = max(self.most, self.open)
        self._serve(index)

    def _serve(self, index: int) -> None:
        tag = index << 3
        self._ring.receive_then_send(
            index, self._data_address, self._request, self._response, tag | _RECEIVE, tag | _SEND
        )

    def _end(self, index: int, result: int) -> None:
        # 0 and a reset are how clients end; part of a request is not.
        if result != 0 and result != -_ECONNRESET:
            self._fail(min(result, 0))
        self.open -= 1
        self._ring.close_socket(index, _CLOSE)
        self._listen()
