"""Commands on a terminal, met half-way."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

# The program, as its entry point runs it.
FOURTUPLE = [sys.executable, "-m", "fourtuple"]

STRESSING = rb"[1-9][0-9,]* bogo operations"
"""What a stressor shows once it is at work."""


@contextmanager
def half_way(
    shown_when: bytes, *arguments: str
) -> Generator[tuple[subprocess.Popen[str], Callable[[], str]], None, None]:
    """A command whose terminal has shown what matches the pattern ``shown_when``, and the rest of its screen."""
    terminal, end = pty.openpty()
    process = subprocess.Popen(
        [*FOURTUPLE, *arguments],
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
        env={**os.environ, "TERM": "xterm"},
        process_group=0,
    )
    os.close(end)

    def screen() -> Generator[bytes, None, None]:
        # Reading ends with EIO once no process has the other end.
        with suppress(OSError):
            while True:
                yield os.read(terminal, 4096)

    shown, seen = screen(), b""
    with process:
        while re.search(shown_when, seen) is None:
            seen += next(shown)
        yield process, lambda: b"".join(shown).decode()
    os.close(terminal)
