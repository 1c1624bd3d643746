"""The process that holds a workload's connections and does with them what it is asked.

Run by ``fourtuple.load.world`` as ``python -m fourtuple.load.worker DESCRIPTOR``, the descriptor of
its end of a pair of sockets. When the other end closes it ends, and its connections with it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from typing import Any

from fourtuple.linux.limits import pin_to_cpu
from fourtuple.load.choosers import Chooser
from fourtuple.load.connections import Connections
from fourtuple.load.places import Place


def work(channel: Connection[Any, Any]) -> None:
    """Take the chooser and the place from the channel, then answer requests until it closes.

    The answer to a request is the function's result, or the exception that it raised.
    """
    chooser: Chooser
    place: Place
    chooser, place = channel.recv()
    cpus = os.sched_getaffinity(0)
    # Sinks inherit the CPU of the moment they start, in ``enter``; then this process moves to one
    # of its own, so that every block is measured on the same CPU and never waits for a sink.
    pin_to_cpu(len(cpus) - 1)
    with (
        place.enter() as address,
        chooser() as way,
        closing(Connections(address, way)) as connections,
    ):
        os.sched_setaffinity(0, cpus)
        pin_to_cpu(0)
        channel.send(None)
        while True:
            channel.send(_answer(connections, *channel.recv()))


def _answer(connections: Connections, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        return function(connections, *arguments)
    except Exception as error:
        return error


def main() -> None:
    """Work for the process at the other end of the descriptor given."""
    # EOFError or a reset: the process that asks is gone, and with it the reason to work.
    with Connection(int(sys.argv[1])) as channel, suppress(EOFError, ConnectionError):
        try:
            work(channel)
        except OSError as refusal:
            channel.send(refusal)


if __name__ == "__main__":
    main()
