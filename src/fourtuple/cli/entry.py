"""Where the command starts: ready for Ctrl-C before it imports anything that takes time.

An interrupt ends the process on the spot. As an exception it could come up in any import or while something is thrown
away, where Python loses it or makes another error of it. A command with something to put back asks for the exception:
`fourtuple.cli.interrupts`.
"""

from __future__ import annotations

import os

# Not typing's, which takes time itself.
TYPE_CHECKING = False

if TYPE_CHECKING:
    import signal
    from types import FrameType
    from typing import Final, NoReturn
else:
    # What signal is made of. Every interpreter has it from the start, while signal makes enumerations of it first.
    import _signal as signal

INTERRUPTED: Final = 130
"""The exit status after an interrupt."""
NOTICE: Final = "Interrupted."
"""What is said on standard error then."""


def main() -> None:
    """Run the command line, which ends the process. See `fourtuple.cli.main`."""
    # Any other handler is the wish of who started this program, as when a shell does so in the background.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    from fourtuple.cli.main import main as command

    command()


def leave(signum: int, frame: FrameType | None) -> NoReturn:
    """Say that this process was interrupted, and end it as it stands: a handler of signals."""
    os.write(2, f"{NOTICE}\n".encode())
    os._exit(INTERRUPTED)
