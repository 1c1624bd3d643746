"""The server of tcp_crr and tcp_rr: answers each request of a fixed size, and holds the connection until it ends.

The client ends connections, so that TIME_WAIT, if any, is at its end.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN = 0x1
_OUT = 0x4
_ERR = 0x8
_HUP = 0x10
_EAGAIN = 11


class EchoServer(Server):
    """The server side in one thread, for its listening sockets (descriptors). Sizes in bytes, above 0.

    ``transactions`` answered. Among the failures number 0 counts connections that ended within a request.
    """

    def __init__(self, listeners: Sequence[int], *, request: int, response: int) -> None:
        self.transactions = 0
        self._request = request
        self._response = response
        self._buffer = array("B", bytes(max(request, response)))
        self._got = array("i")
        self._owed = array("i")
        super().__init__(listeners)

    def _reserve(self, capacity: int) -> None:
        Server._reserve(self, capacity)
        more = self._capacity - len(self._got)
        self._got = array("i", bytes(self._got) + bytes(4 * more))
        self._owed = array("i", bytes(self._owed) + bytes(4 * more))

    def _welcome(self, fd: int) -> bool:
        # The request has mostly come with the connection.
        self._got[fd] = 0
        self._owed[fd] = 0
        open_before = self.open
        answered = self._receive(fd)
        if self.open == open_before:
            libc.watch(self.epoll, fd, _OUT if self._owed[fd] else _IN, fd)
        return answered

    def _serve(self, fd: int, events: int) -> None:
        if events & (_ERR | _HUP):
            self._end(fd)
        elif self._owed[fd]:
            if self._answer(fd):
                libc.rewatch(self.epoll, fd, _IN, fd)
        else:
            self._receive(fd)
            if self._owed[fd]:
                # More than the socket's buffer takes at once.
                libc.rewatch(self.epoll, fd, _OUT, fd)

    def _receive(self, fd: int) -> bool:
        # Whether a request was answered.
        got = libc.receive(fd, self._buffer, 0, self._request - self._got[fd], 0)
        if got > 0:
            self._got[fd] += got
            if self._got[fd] < self._request:
                return False
            self._got[fd] = 0
            self._owed[fd] = self._response
            return self._answer(fd)
        if got != -_EAGAIN:
            if got < 0 or self._got[fd] > 0:
                self._fail(got)
            self._end(fd)
        return False

    def _answer(self, fd: int) -> bool:
        sent = libc.send(fd, self._buffer, 0, self._owed[fd], 0)
        if sent < 0:
            if sent != -_EAGAIN:
                self._fail(sent)
                self._owed[fd] = 0
                self._end(fd)
            return False
        self._owed[fd] -= sent
        if self._owed[fd]:
            return False
        self.transactions += 1
        return True
