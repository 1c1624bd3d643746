"""What the clients of every workload share: flows, how they connect, when they start, and what is counted.

A flow is a slot: one connection at a time towards its own destination, from its own source. A *transaction* is what the
workload repeats on it. In a closed loop a flow starts the next when one has ended, in an open loop when the schedule
says so and it is idle.

Every failure is counted by its errno, in ``failures``; number 0 counts connections that the peer closed before it had
answered. A flow that cannot connect is *dead*, as with neper; when all are, the loop ends. A connection that breaks is
no reason to die for a workload that connects anew anyway.
"""

from __future__ import annotations

import errno
import select
import socket
from array import array
from dataclasses import dataclass
from mmap import mmap
from typing import TYPE_CHECKING, cast

from fourtuple.linux import libc

from .chooser import PortChooser
from .histogram import Histogram
from .loop import Loop
from .options import Option, SocketOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .arrivals import Arrivals
    from .lanes import Lane

_IN = select.EPOLLIN
_OUT = select.EPOLLOUT
_EAGAIN = errno.EAGAIN
_EINPROGRESS = errno.EINPROGRESS
_SOL_IP = socket.SOL_IP
_IP_BIND_ADDRESS_NO_PORT = 24
_STREAM = socket.SOCK_STREAM | socket.SOCK_NONBLOCK

_FREED = 0
_TIME_WAIT = 1
_TIME_WAIT_KEPT = 2
_CLOSE_WAIT = 8


@dataclass(frozen=True, slots=True)
class Flows:
    """The flows of one thread.

    ``destinations`` and ``sources`` are socket addresses (``addresses.packed``), all of one ``family``, which
    ``destination_of`` and ``source_of`` index for each flow, -1 for no source of its own. A source with port 0 fixes
    the address, one with a port both. ``options`` are set on each socket before it connects. ``reset``: close with a
    reset, which leaves no TIME_WAIT. ``lanes``: the port spaces, lane
    ``destination * max(1, len(sources)) + max(0, source)`` for each pair; None leaves ports to the kernel.
    """

    family: int
    destinations: Sequence[bytes]
    sources: Sequence[bytes]
    destination_of: Sequence[int]
    source_of: Sequence[int]
    options: Sequence[Option]
    reset: bool
    lanes: Lane | None


class Client(Loop):
    """The client side of a workload in one thread.

    ``limit``: transactions after which the loop ends, 0 for none. ``arrivals``: the schedule of an open loop. ``log``:
    how many transactions of each flow to keep, the first ones: ``logged`` counts them by flow, and number ``k`` of a
    flow stands at ``flow * log + k`` of ``log_moments`` (its end by the clock of `libc.now`) and ``log_latencies``.

    ``transactions`` are complete ones, ``done`` those of each flow; ``alive`` flows are not dead; ``started``
    tells that each has begun. ``connecting``,
    ``requesting`` and ``closing`` are histograms of the parts of a transaction, ``latency`` of the whole: from the end
    of the flow's transaction before, or from the intended start in an open loop.
    """

    def __init__(self, flows: Flows, *, limit: int = 0, arrivals: Arrivals | None = None, log: int = 0) -> None:
        super().__init__()
        count = len(flows.destination_of)
        self.flows = count
        self.alive = count
        self.limit = limit
        self.transactions = 0
        self.latency = Histogram()
        self.connecting = Histogram()
        self.requesting = Histogram()
        self.closing = Histogram()
        self.done = array("Q", bytes(8 * count))
        self.log = log
        self.logged = array("i", bytes(4 * count))
        self.log_moments = _lazy_numbers(count * log)
        self.log_latencies = _lazy_numbers(count * log)
        # Asked for only where there are some; the same holds for the lanes.
        self.arrivals = cast("Arrivals", arrivals)
        self._open_loop = arrivals is not None
        self._family = flows.family
        self._reset = flows.reset
        self._options = SocketOptions(flows.options)
        self._addresses = b"".join([*flows.destinations, *flows.sources])
        self._address_size = len(flows.destinations[0])
        self._destinations = len(flows.destinations)
        self._sources = len(flows.sources)
        self._destination_of = array("i", flows.destination_of)
        self._source_of = array("i", flows.source_of)
        self._chooser = PortChooser(cast("Lane", flows.lanes))
        self._chooses = flows.lanes is not None
        self._fd = array("i", [-1] * count)
        self._port = array("i", bytes(4 * count))
        self._begun = array("q", bytes(8 * count))
        self._dialled = array("q", bytes(8 * count))
        self._idle = array("i", bytes(4 * count))
        self._idle_count = 0

    @property
    def kernel_choices(self) -> int:
        """Connections whose port the kernel chose although there are lanes."""
        return self._chooser.kernel_choices

    @property
    def refused_ports(self) -> int:
        """Proposed ports that the kernel did not take."""
        return self._chooser.refused_ports

    @property
    def unconnected(self) -> int:
        """Flows that are not dead and have had no connection yet; of tcp_crr over io_uring: no answer yet."""
        count = 0
        for slot in range(self.flows):
            if self._awaits_connection(slot):
                count += 1
        return count

    @property
    def overdue(self) -> int:
        """Transactions of an open loop that should have started by now and have not."""
        late = 0
        if self._open_loop:
            moment = libc.now()
            while self.arrivals.next <= moment:
                self.arrivals.advance()
                late += 1
        return late

    # For subclasses.

    def _awaits_connection(self, slot: int) -> bool:
        # Whether the slot's first connection is still to come.
        return False

    def _begin(self, slot: int) -> None:
        # Start a transaction.
        pass

    def _count(self, slot: int, moment: int) -> None:
        # A transaction is complete.
        self.latency.record(moment - self._begun[slot])
        if self.logged[slot] < self.log:
            place = slot * self.log + self.logged[slot]
            self.log_moments[place] = moment
            self.log_latencies[place] = moment - self._begun[slot]
            self.logged[slot] += 1
        self.transactions += 1
        self.done[slot] += 1
        if self.transactions == self.limit:
            self.stopped = True

    def _go_on(self, slot: int, moment: int) -> None:
        # The slot can start another transaction.
        if self._open_loop:
            self._idle[self._idle_count] = slot
            self._idle_count += 1
        else:
            self._begun[slot] = moment
            self._begin(slot)

    def _die(self, slot: int, code: int) -> None:
        # The flow could not connect.
        self._fail(code)
        self._hang_up(slot)
        self.alive -= 1
        if self.alive == 0:
            self.stopped = True

    # The loop.

    def _start(self) -> None:
        # All flows begin before any goes on, so that as many connections are open from the start.
        moment = libc.now()
        for slot in range(self.flows):
            if self.stopped:
                break
            self._admit(slot, moment)

    def _set_off(self) -> None:
        if self._open_loop:
            self.arrivals.begin(libc.now())

    def _pass_time(self) -> int:
        if not self._open_loop:
            return -1
        moment = libc.now()
        while self._idle_count and self.arrivals.next <= moment and not self.stopped:
            self._idle_count -= 1
            slot = self._idle[self._idle_count]
            self._begun[slot] = self.arrivals.next
            self.arrivals.advance()
            self._begin(slot)
        return self.arrivals.next - moment if self._idle_count and self.arrivals.next > moment else -1

    def _admit(self, slot: int, moment: int) -> None:
        # A flow's first transaction.
        self._go_on(slot, moment)

    def _finish(self) -> None:
        for slot in range(self.flows):
            self._hang_up(slot)

    # Connections.

    def _dial(self, slot: int) -> int:
        # A socket for the slot, connecting or connected: 0, or -errno and no socket.
        fd = libc.open_socket(self._family, _STREAM, 0)
        if fd < 0:
            return fd
        self._fd[slot] = fd
        if self._reset:
            libc.set_reset_on_close(fd)
        code = self._prepare(fd, slot)
        if code == 0:
            code = self._connect(fd, slot)
        if code == -_EINPROGRESS:
            return 0
        if code < 0:
            self._hang_up(slot)
        return code

    def _prepare(self, fd: int, slot: int) -> int:
        code = self._options.apply(fd)
        source = self._source_of[slot]
        if code < 0 or source < 0:
            return code
        code = libc.set_number(fd, _SOL_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
        if code < 0:
            return code
        start = (self._destinations + source) * self._address_size
        return libc.bind(fd, self._addresses, start, self._address_size)

    def _connect(self, fd: int, slot: int) -> int:
        start = self._destination_of[slot] * self._address_size
        if not self._chooses:
            return libc.connect(fd, self._addresses, start, self._address_size)
        code = self._chooser.connect(self._lane(slot), fd, self._addresses, start, self._address_size)
        self._port[slot] = self._chooser.port
        return code

    def _hang_up(self, slot: int) -> None:
        # Close the slot's socket, if it has one, and give its port back.
        fd = self._fd[slot]
        if fd < 0:
            return
        port = self._port[slot]
        how = self._how(fd) if port else _FREED
        self._fd[slot] = -1
        self._port[slot] = 0
        libc.close(fd)
        if port:
            self._chooser.release(self._lane(slot), port, how)

    def _how(self, fd: int) -> int:
        # As `fourtuple.ports.closing` has it, for connections on which this end never shuts down before it closes.
        if self._reset:
            return _FREED
        head = libc.tcp_info_head(fd)
        state = head & 0xFF
        if head < 0 or state >= _CLOSE_WAIT or state in (2, 7):
            return _FREED
        return _TIME_WAIT if head >> 8 & 1 else _TIME_WAIT_KEPT

    def _lane(self, slot: int) -> int:
        return self._destination_of[slot] * max(1, self._sources) + max(0, self._source_of[slot])


def _lazy_numbers(count: int) -> memoryview[int]:
    # 64-bit numbers that take memory once they are written.
    return memoryview(mmap(-1, max(1, count) * 8)).cast("q")
