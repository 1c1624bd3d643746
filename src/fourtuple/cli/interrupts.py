"""Ctrl-C for commands that have something to put back, or to tell, when they are interrupted."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager

from fourtuple.cli.entry import leave


@contextmanager
def interruptible() -> Generator[None, None, None]:
    """Have an interrupt raise ``KeyboardInterrupt`` for the length of a ``with`` block.

    Only where it would end the process on the spot; any other handler of interrupts stays.
    """
    if signal.getsignal(signal.SIGINT) is not leave:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, leave)
