"""A process of a stressor: one worker.

Run by `fourtuple.load.stress.run` as ``python -m fourtuple.load.stress.member DESCRIPTOR ROW``, with the descriptor of
the board and the number of its row. Standard input brings its orders, standard output takes its answers. Both are
pipes: a pair of sockets would be two AF_UNIX sockets more for sockdiag to find. When nobody holds the writing end of
its orders any more it ends at once, so it outlives its parent by no more than an instant, however the parent ends.
Not sooner: a server that has done its work keeps its port, so that its client finds nothing amiss.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, NoReturn, TypeAlias

from fourtuple.linux.limits import raise_file_limit

from .board import attach
from .cells import Cells

Channel: TypeAlias = "Connection[Any, Any]"


def work(orders: Channel, answers: Channel, cells: Cells) -> None:
    """Take what makes the worker from the orders, tell that it is ready, run it when told to, and tell that it is done.

    The first answer is the processor time used until then, in seconds, user and system; or the ``OSError`` that stands
    in the way.
    """
    make = orders.recv()
    # As stress-ng does.
    raise_file_limit()
    try:
        worker = make(cells)
    except OSError as refusal:
        answers.send(refusal)
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    answers.send((usage.ru_utime, usage.ru_stime))
    orders.recv()
    lifeline = threading.Thread(target=_end_with, args=[orders])
    lifeline.start()
    worker.run()
    answers.send(None)
    lifeline.join()


def _end_with(orders: Channel) -> NoReturn:
    with suppress(EOFError, OSError):
        orders.recv()
    os._exit(0)


def main() -> None:
    """Work for whoever holds the other ends of standard input and output."""
    descriptor, row = map(int, sys.argv[1:])
    orders, answers = Connection(0, writable=False), Connection(1, readable=False)
    # EOFError or a broken pipe: whoever asks is gone, and with it the reason to work.
    with suppress(EOFError, ConnectionError):
        work(orders, answers, attach(descriptor, row))


if __name__ == "__main__":
    main()
