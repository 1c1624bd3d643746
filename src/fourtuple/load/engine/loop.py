"""An event loop of one thread, over epoll, that runs without the interpreter.

A loop knows its connections by *slots*, small numbers that index flat arrays. Subclasses say what happens at the start,
when a slot is ready, and when time has passed; all of it is C once compiled, and threads run their loops side by side.
Uncompiled it is the same, slowly, and needs Cython installed for its name of "without the interpreter".
"""

from __future__ import annotations

from array import array

import cython  # pyright: ignore[reportMissingTypeStubs]

from fourtuple.linux import libc

EVENTS = 256
"""Ready slots asked for at once."""

ERRNOS = 256
"""Failures are counted by numbers below this."""

_LONGEST = 50_000_000  # nanoseconds until a loop without events looks whether it was stopped


class Loop:
    """One thread's event loop. ``epoll`` is its descriptor; closing the loop closes it.

    Whoever calls ``stop`` may be another thread. ``rounds`` counts the waits. ``failures`` counts what went wrong by
    its errno; number 0 counts connections that the peer closed too soon.
    """

    def __init__(self) -> None:
        self.stopped = False
        self.started = False
        self.rounds = 0
        self.failures = array("Q", bytes(8 * ERRNOS))
        self.epoll = libc.open_epoll()
        if self.epoll < 0:
            raise OSError(-self.epoll, "epoll_create1: cannot make an event loop")
        self._slots = array("i", bytes(4 * EVENTS))
        self._events = array("I", bytes(4 * EVENTS))

    def run(self, gate: int = -1) -> None:
        """Handle events until stopped, without the interpreter.

        ``gate``: an epoll descriptor. When the loop has ``started``, it waits until something in there is ready. So
        many threads can start one after the other and then go all at once, where else each would take the processors
        from those that are still to start.
        """
        descriptor = gate
        with cython.nogil:
            self._start()
            self.started = True
            if descriptor >= 0:
                libc.wait(descriptor, self._slots, self._events, -1)
            self._spin()

    def stop(self) -> None:
        """Make run() return, at the latest after a twentieth of a second."""
        self.stopped = True

    def close(self) -> None:
        """Close all descriptors that the loop opened, its connections too. Call it when run() has returned."""
        if self.epoll >= 0:
            self._finish()
            libc.close(self.epoll)
            self.epoll = -1

    def _spin(self) -> None:
        self._set_off()
        while not self.stopped:
            timeout = self._pass_time()
            if timeout < 0 or timeout > _LONGEST:
                timeout = _LONGEST
            count = self._wait(timeout)
            self.rounds += 1
            for place in range(count):
                if self.stopped:
                    break
                self._ready(self._slots[place], self._events[place])

    def _start(self) -> None:
        # Before everything else.
        pass

    def _set_off(self) -> None:
        # Before the first wait.
        pass

    def _pass_time(self) -> int:
        # Before each wait; returns how long to wait at most, in nanoseconds, -1 for as long as there are no events.
        return -1

    def _wait(self, timeout: int) -> int:
        # Wait as many nanoseconds at most; how many of ``_slots`` and ``_events`` are to be handled, or -errno.
        return libc.wait(self.epoll, self._slots, self._events, timeout)

    def _ready(self, slot: int, events: int) -> None:
        # Something happened to a slot; ``events`` are those of epoll.
        pass

    def _finish(self) -> None:
        # Close connections: not at the end of run(), since the other side counts until it is told the end.
        pass

    def _fail(self, code: int) -> None:
        # Count a failure: -errno, or 0 for a connection closed too soon.
        if -ERRNOS < code <= 0:
            self.failures[-code] += 1
