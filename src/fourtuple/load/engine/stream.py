"""Bulk data on one connection after another: what a loop does with a flow that is ready.

It reads and writes in turns until neither works any more, which saves the wait between one and the next; but only for
so many turns, so that other flows and the end of the run are not kept waiting.
"""

from __future__ import annotations

import errno
import select
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .loop import Loop

if TYPE_CHECKING:
    from array import array

    from .stream_reader import Reader
    from .stream_writer import Writer

READ = 1
"""The direction of a flow, a sum of these two."""
WRITE = 2

_IN = select.EPOLLIN
_OUT = select.EPOLLOUT
_ERR = select.EPOLLERR
_HUP = select.EPOLLHUP
_RDHUP = select.EPOLLRDHUP
_ET = select.EPOLLET
_EAGAIN = errno.EAGAIN

_READ = READ
_WRITE = WRITE
_GOES_ON = 1
_TURNS = 32
_LONGEST = 50_000_000  # nanoseconds of a pause until it is seen whether the loop was stopped


class Stream:
    """The flows of one thread, by level-triggered events.

    ``delay``: nanoseconds that the whole thread pauses after each write, as with neper.
    """

    def __init__(self, reader: Reader, writer: Writer, *, delay: int = 0) -> None:
        if delay < 0:
            raise ValueError(f"delay must be 0 nanoseconds or more, not {delay}")
        self.reader = reader
        self.writer = writer
        self._delay = delay
        self._turns = 1 if delay else _TURNS

    def events(self, directions: int) -> int:
        """What epoll shall tell of a flow that goes in these directions."""
        # A flow that reads meets the end of the stream when it has read all before it.
        wanted = _IN if directions & _READ else _RDHUP
        return wanted | _OUT if directions & _WRITE else wanted

    def serve(self, loop: Loop, fd: int, slot: int, events: int, directions: int, done: array[int]) -> int:
        """Read and write what can be, and count what was read in ``done[slot]``.

        1 if the flow goes on; else it is over: 0 if the peer closed it, or -errno.
        """
        if events & _ERR and self.writer.reap(fd) == 0:
            code = -libc.pending_error(fd)
            if code < 0:
                return code
        if events & (_HUP | _RDHUP) and not directions & _READ:
            return 0
        reads = directions & _READ and events & (_IN | _HUP)
        writes = directions & _WRITE and events & _OUT
        for _ in range(self._turns):
            if reads:
                code = self.reader.read(fd)
                if code > 0:
                    done[slot] += code
                elif code == -_EAGAIN:
                    reads = 0
                else:
                    return code
            if writes:
                code = self.writer.write(fd)
                if code == -_EAGAIN:
                    writes = 0
                elif code < 0:
                    return code
                elif self._delay:
                    self._pause(loop)
            if not (reads or writes):
                return _GOES_ON
        self._interrupt(loop, fd, slot, directions)
        return _GOES_ON

    def close(self) -> None:
        """Give back what is not memory of this process."""
        self.reader.close()

    def _interrupt(self, loop: Loop, fd: int, slot: int, directions: int) -> None:
        # Others have their turn, though this flow could go on: epoll will tell of it again.
        pass

    def _pause(self, loop: Loop) -> None:
        moment = libc.now()
        end = moment + self._delay
        while moment < end and not loop.stopped:
            libc.pause(min(end - moment, _LONGEST))
            moment = libc.now()


class EdgeStream(Stream):
    """The flows of one thread, by edge-triggered events."""

    def events(self, directions: int) -> int:
        """What epoll shall tell of a flow that goes in these directions."""
        return _ET | Stream.events(self, directions)

    def _interrupt(self, loop: Loop, fd: int, slot: int, directions: int) -> None:
        # Asked anew, epoll tells of what is ready already.
        libc.rewatch(loop.epoll, fd, self.events(directions), slot)
