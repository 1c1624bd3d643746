"""The server of a workload: accepts connections and holds each until its peer is gone.

Run as ``python -m fourtuple.load.sink`` in the manner of inetd: standard input is the listening
socket. Standard output is the *lifeline*, a pipe that is never written to: epoll reports EPOLLERR
on it once nobody holds the reading end, so a sink outlives its parent by no more than an instant,
however the parent ends.

It looks every millisecond and never waits for an event. A process that waits has to be woken by
whoever connects, and on a virtual machine waking another CPU costs about as much as the rest of
connect(): a cost of the server, which would be measured as one of the client.
"""

from __future__ import annotations

import contextlib
import select
import socket
import sys
import time
from collections.abc import Iterator

# Connections accepted before the ones that ended are closed: few, so that descriptors come free
# early.
_BATCH = 64
_PAUSE = 0.001  # seconds between two looks: room for some 50 connections in the listener's queue


def serve(listener: socket.socket, lifeline: int) -> None:
    """Accept and hold connections until the reading end of the pipe ``lifeline`` is closed."""
    listener.setblocking(False)
    held: dict[int, socket.socket] = {}
    with select.epoll() as poll:
        poll.register(lifeline, 0)
        poll.register(listener, select.EPOLLIN)
        while lifeline not in (ready := {descriptor for descriptor, _ in poll.poll(0)}):
            if not ready:
                time.sleep(_PAUSE)
            for descriptor in ready & held.keys():
                held.pop(descriptor).close()
            if listener.fileno() in ready:
                for connection in _accept(listener):
                    held[connection.fileno()] = connection
                    poll.register(connection, select.EPOLLRDHUP)
    for connection in held.values():
        connection.close()


def _accept(listener: socket.socket) -> Iterator[socket.socket]:
    with contextlib.suppress(BlockingIOError):
        for _ in range(_BATCH):
            yield listener.accept()[0]


if __name__ == "__main__":
    serve(socket.socket(fileno=sys.stdin.fileno()), sys.stdout.fileno())
