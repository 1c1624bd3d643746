"""The accepting side of tcp_stream."""

from __future__ import annotations

import select
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .server import Server
from .stream import READ, WRITE, Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN = select.EPOLLIN
_READ = READ
_WRITE = WRITE


class StreamServer(Server):
    """tcp_stream's server in one thread. All flows have the same ``directions``: ``READ``, ``WRITE`` or their sum.

    ``done`` counts the bytes that each flow read, by its descriptor; those of all are in ``stream``. Failures tell why
    flows ended before the loop did; number 0 counts those that the peer closed.
    """

    def __init__(self, listeners: Sequence[int], stream: Stream, directions: int) -> None:
        self.stream = stream
        self.done = array("Q")
        self._directions = directions
        self._direction = array("B")
        super().__init__(listeners)

    def close(self) -> None:
        """Close what the loop and the stream opened. Call it when run() has returned."""
        super().close()
        self.stream.close()

    def _reserve(self, capacity: int) -> None:
        Server._reserve(self, capacity)
        more = self._capacity - len(self.done)
        self.done = array("Q", bytes(self.done) + bytes(8 * more))
        self._direction = array("B", bytes(self._direction) + bytes(more))

    def _welcome(self, fd: int) -> bool:
        self.done[fd] = 0
        self._direction[fd] = self._directions
        code = libc.watch(self.epoll, fd, self.stream.events(self._directions), fd)
        if code < 0:
            self._fail(code)
            self._end(fd)
        return False

    def _serve(self, fd: int, events: int) -> None:
        code = self.stream.serve(self, fd, fd, events, self._direction[fd], self.done)
        if code <= 0:
            self._fail(code)
            self._end(fd)


class SplitStreamServer(StreamServer):
    """The server of flows of which each goes one way, and the client knows which.

    Nothing on the wire tells: a flow is for writing until something comes. What was written by then stays unread.
    """

    def __init__(self, listeners: Sequence[int], stream: Stream) -> None:
        super().__init__(listeners, stream, READ | WRITE)

    def _serve(self, fd: int, events: int) -> None:
        if events & _IN and self._direction[fd] & _WRITE:
            self._direction[fd] = _READ
            libc.rewatch(self.epoll, fd, self.stream.events(_READ), fd)
        StreamServer._serve(self, fd, events)
