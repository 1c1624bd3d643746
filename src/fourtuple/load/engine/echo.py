"""The server of tcp_crr and tcp_rr: answers each request of a fixed size, and holds the connection until it ends.

The client ends connections, so that TIME_WAIT, if any, is at its end. What is counted takes the same memory however
long the server runs: numbers, and 9 bytes for each descriptor.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .loop import Loop

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN = 0x1
_ERR = 0x8
_HUP = 0x10
_EAGAIN = 11
_EMFILE = 24
_ENFILE = 23
_NONBLOCK = 0o4000
_ACCEPTED_AT_ONCE = 64
_NONE = 0
_CONNECTION = 1
_LISTENER = 2


class EchoServer(Loop):
    """The server side in one thread, for its listening sockets (descriptors). Sizes in bytes, above 0.

    ``connections`` accepted, ``open`` now, ``most`` open at once, ``transactions`` answered. Among the failures number
    0 counts connections that ended within a request, EMFILE and ENFILE the times that accepting had to wait for a
    descriptor.
    """

    def __init__(self, listeners: Sequence[int], *, request: int, response: int) -> None:
        super().__init__()
        self.connections = 0
        self.open = 0
        self.most = 0
        self.transactions = 0
        self._request = request
        self._response = response
        self._buffer = array("B", bytes(max(request, response)))
        # Descriptors are the slots, so the arrays grow with the greatest.
        self._capacity = 0
        self._kind = array("B")
        self._got = array("i")
        self._owed = array("i")
        self._reserve(max(listeners) + 1)
        self._listeners = array("i", listeners)
        self._listener_count = len(listeners)
        self._listening = False
        for listener in listeners:
            self._kind[listener] = _LISTENER

    def _start(self) -> None:
        self._listen()

    def _listen(self) -> None:
        if not self._listening:
            self._listening = True
            for place in range(self._listener_count):
                libc.watch(self.epoll, self._listeners[place], _IN, self._listeners[place])

    def _stop_listening(self) -> None:
        self._listening = False
        for place in range(self._listener_count):
            libc.unwatch(self.epoll, self._listeners[place])

    def _ready(self, slot: int, events: int) -> None:
        if self._kind[slot] == _LISTENER:
            self._accept(slot)
        elif self._kind[slot] == _NONE:
            # Ended earlier in this round.
            return
        elif events & (_ERR | _HUP):
            self._end(slot)
        elif self._owed[slot]:
            self._answer(slot)
        else:
            self._serve(slot)

    def _accept(self, listener: int) -> None:
        # One, and more only if one brought work at once: looking in vain would cost each lone connection a call.
        for _ in range(_ACCEPTED_AT_ONCE):
            fd = libc.accept(listener, _NONBLOCK)
            if fd < 0:
                if fd in (-_EMFILE, -_ENFILE):
                    # Else the listener would stay ready, and the loop would spin.
                    self._stop_listening()
                if fd != -_EAGAIN:
                    self._fail(fd)
                return
            if fd >= self._capacity:
                self._reserve(fd + 1)
            self.connections += 1
            self.open += 1
            self.most = max(self.most, self.open)
            self._kind[fd] = _CONNECTION
            self._got[fd] = 0
            self._owed[fd] = 0
            # The request has mostly come with the connection.
            served = self._serve(fd)
            if self._kind[fd] == _CONNECTION:
                libc.watch(self.epoll, fd, _IN, fd)
            if not served:
                return

    def _serve(self, fd: int) -> bool:
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
                self._end(fd)
            return False
        self._owed[fd] -= sent
        if self._owed[fd]:
            return False
        self.transactions += 1
        return True

    def _end(self, fd: int) -> None:
        self._kind[fd] = _NONE
        self.open -= 1
        libc.close(fd)
        self._listen()

    def _finish(self) -> None:
        for fd in range(self._capacity):
            if self._kind[fd] == _CONNECTION:
                self._end(fd)

    def _reserve(self, capacity: int) -> None:
        # Room for descriptors below the number, in doublings.
        more = max(capacity, 2 * self._capacity) - self._capacity
        self._kind = array("B", bytes(self._kind) + bytes(more))
        self._got = array("i", bytes(self._got) + bytes(4 * more))
        self._owed = array("i", bytes(self._owed) + bytes(4 * more))
        self._capacity += more
