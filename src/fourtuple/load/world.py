"""A world: a process whose connections to one destination were all chosen in the same way.

The kernel's search fills the even offsets of the range first; fourtuple spreads its ports over the
whole range. Each would find a range filled by the other in a state that it never meets on its own,
so whoever compares the two opens two worlds, each filled by its own method.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any, TypeVar, TypeVarTuple

from fourtuple.load.choosers import Chooser
from fourtuple.load.connections import Connections
from fourtuple.load.places import Place

_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")

# Seconds that a worker may take to close some 20,000 connections, which needs a fraction of one.
_PATIENCE = 10


class World:
    """A worker process at the other end of ``channel``. See `open_world`."""

    def __init__(self, channel: Connection[Any, Any]) -> None:
        self._channel = channel

    def ask(self, function: Callable[[Connections, *_Arguments], _Result], *arguments: *_Arguments) -> _Result:
        """Return what ``function`` returns in the worker, given its connections and ``arguments``.

        ``function`` is one that pickle finds by its name. Raises what it raises, and
        ``ChildProcessError`` when the worker is gone.
        """
        return self._exchange((function, arguments))

    def _exchange(self, message: object) -> Any:
        try:
            self._channel.send(message)
            answer = self._channel.recv()
        except (EOFError, ConnectionError) as error:
            raise ChildProcessError("a worker process ended before its work was done") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    def set_up(self, chooser: Chooser, place: Place) -> None:
        """Tell a new worker what it is. Raises what entering ``place`` raises."""
        self._exchange((chooser, place))


@contextmanager
def open_world(chooser: Chooser, place: Place) -> Generator[World, None, None]:
    """Start a process in ``place`` whose connections get their ports from ``chooser``.

    It ends with the block, or with this process, and leaves nothing behind. Raises what entering
    the place raises.
    """
    with _worker() as channel:
        world = World(channel)
        world.set_up(chooser, place)
        yield world


@contextmanager
def _worker() -> Generator[Connection[Any, Any], None, None]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fourtuple.load.worker", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            # Away from Ctrl-C, which is for the process that asks.
            process_group=0,
        )
    try:
        with Connection(ours.detach()) as channel:
            yield channel
    finally:
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
