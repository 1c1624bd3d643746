"""Runs the command line given, and interrupts a copy of it at every so many function calls.

The last line on standard output is a JSON list: how many copies there were, and those that ended in another way than an
interrupted command does.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

from fourtuple.cli.entry import main

CALLS_APART = 101
EXPECTED = 130, "Interrupted.\n"


class Interruptions:
    """A profile function that forks: the copy gets the signal, the original waits for its end and goes on."""

    def __init__(self) -> None:
        self.copies = 0
        self.faults: list[str] = []
        self._calls = 0
        self._stderr = os.memfd_create("stderr")
        self._stdout = os.open(os.devnull, os.O_WRONLY)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        self._calls += 1
        if self._calls % CALLS_APART:
            return
        os.ftruncate(self._stderr, 0)
        os.lseek(self._stderr, 0, os.SEEK_SET)
        copy = os.fork()
        if copy == 0:
            sys.setprofile(None)
            os.dup2(self._stdout, 1)
            os.dup2(self._stderr, 2)
            # Number 2 is SIGINT: the module that knows the name is imported by the program.
            os.kill(os.getpid(), 2)
            return
        self.copies += 1
        _, status = os.waitpid(copy, 0)
        end = os.waitstatus_to_exitcode(status), os.pread(self._stderr, 1_000_000, 0).decode()
        if end != EXPECTED:
            self.faults.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}: {end}")


if __name__ == "__main__":
    original = os.getpid()
    interruptions = Interruptions()
    sys.setprofile(interruptions)
    try:
        main()
    finally:
        sys.setprofile(None)
        if os.getpid() == original:
            # Not sooner: what the program imports is to be imported, and interrupted, by itself.
            import json

            sys.stdout.write(json.dumps([interruptions.copies, interruptions.faults]) + "\n")
