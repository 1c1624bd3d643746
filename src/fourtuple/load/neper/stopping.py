"""What ends a run before its time: signals and threads that wake the one who waits."""

from __future__ import annotations

import os
import select
from collections.abc import Iterable
from typing import Protocol


class HasDescriptor(Protocol):
    """Anything that poll() can wait for."""

    def fileno(self) -> int:
        """The descriptor."""
        ...


class Bell:
    """Rung by signal handlers and threads; whoever waits for it wakes up, though it was rung before the wait.

    ``signal`` is the number of the last signal that told the run to stop, None while none did; ``signals`` counts them.
    """

    def __init__(self) -> None:
        self._fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.signal: int | None = None
        self.signals = 0

    def ring(self) -> None:
        """Wake who waits."""
        os.eventfd_write(self._fd, 1)

    def tell(self, signal: int) -> None:
        """Have the run stop because of a signal."""
        self.signal = signal
        self.signals += 1
        self.ring()

    def wait(self, others: Iterable[HasDescriptor], seconds: float) -> bool:
        """Wait until the bell rings, until one of ``others`` is readable, or until the time is over.

        Returns whether one of the others is readable.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        for other in others:
            poll.register(other.fileno(), select.POLLIN)
        ready = {fd for fd, _ in poll.poll(max(0.0, seconds) * 1000)}
        if self._fd in ready:
            os.eventfd_read(self._fd)
            ready.remove(self._fd)
        return bool(ready)

    def close(self) -> None:
        """Close its descriptor."""
        os.close(self._fd)
