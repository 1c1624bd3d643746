"""What the servers of all workloads share: how they accept connections, and what of them is counted.

The slots are descriptors. What is counted takes the same memory however long the server runs: numbers, and a few bytes
for each descriptor up to the greatest.
"""

from __future__ import annotations

import errno
import select
import socket
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .loop import Loop

if TYPE_CHECKING:
    from collections.abc import Sequence

_IN = select.EPOLLIN
_EAGAIN = errno.EAGAIN
_EMFILE = errno.EMFILE
_ENFILE = errno.ENFILE
_NONBLOCK = socket.SOCK_NONBLOCK
_ACCEPTED_AT_ONCE = 64
_NONE = 0
_CONNECTION = 1
_LISTENER = 2


class Server(Loop):
    """The server side of a workload in one thread, for its listening sockets (descriptors), which the caller closes.

    ``connections`` accepted, ``open`` now, ``most`` open at once. Among the failures EMFILE and ENFILE count the times
    that accepting had to wait for a descriptor.
    """

    def __init__(self, listeners: Sequence[int]) -> None:
        super().__init__()
        self.connections = 0
        self.open = 0
        self.most = 0
        self._capacity = 0
        self._kind = array("B")
        self._reserve(max(listeners) + 1)
        self._listeners = array("i", listeners)
        self._listener_count = len(listeners)
        self._listening = False
        for listener in listeners:
            self._kind[listener] = _LISTENER

    # For subclasses.

    def _welcome(self, fd: int) -> bool:
        # A connection is new, and nobody watches it yet. Whether it brought work at once.
        return False

    def _serve(self, fd: int, events: int) -> None:
        # Something happened to a connection.
        pass

    def _end(self, fd: int) -> None:
        # Close a connection.
        self._kind[fd] = _NONE
        self.open -= 1
        libc.close(fd)
        self._listen()

    def _reserve(self, capacity: int) -> None:
        # Room for descriptors below the number, in doublings. Comes before anything else.
        self._capacity = max(capacity, 2 * self._capacity)
        self._kind = array("B", bytes(self._kind) + bytes(self._capacity - len(self._kind)))

    # The loop.

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
        # Neither is a connection that ended earlier in this round.
        if self._kind[slot] == _CONNECTION:
            self._serve(slot, events)
        elif self._kind[slot] == _LISTENER:
            self._accept(slot)

    def _accept(self, listener: int) -> None:
        # One, and more only if one brought work at once: looking in vain would cost each lone connection a call.
        for _ in range(_ACCEPTED_AT_ONCE):
            fd = libc.accept(listener, _NONBLOCK)
            if fd < 0:
                if fd == -_EMFILE or fd == -_ENFILE:
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
            if not self._welcome(fd):
                return

    def _finish(self) -> None:
        for fd in range(self._capacity):
            if self._kind[fd] == _CONNECTION:
                self._end(fd)
