"""What the three programs have in common, and where they differ: the frame that each of them fills.

A program makes one worker for each thread, a loop and what it counts. The rest is the same for all: the flags of the
table, the control connection, samples, figures and their output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from .files import check_writable
from .options import Tcp

if TYPE_CHECKING:
    from fourtuple.load.engine.client import Flows
    from fourtuple.load.engine.loop import Loop

    from .counters import Counters
    from .sockets import SocketOption
    from .trend import Trend

OptionsT = TypeVar("OptionsT", bound=Tcp, covariant=True)

Line: TypeAlias = tuple[str, str]
"""A line of output: key and value."""


class Traffic(NamedTuple):
    """What went over the sockets of a thread so far, as --iostat-ms prints it."""

    sent: int
    sent_bytes: int
    received: int
    received_bytes: int


class Worker(ABC):
    """A thread's event loop, which counts without the interpreter; others read the counts meanwhile."""

    @property
    @abstractmethod
    def loop(self) -> Loop:
        """What the thread runs."""

    @property
    @abstractmethod
    def things(self) -> int:
        """What the throughput is about, so far: transactions, or bytes that were read."""

    @abstractmethod
    def counters(self) -> Counters:
        """All counts. Their histograms are those that the loop goes on to fill; `counters.added` copies them."""

    @abstractmethod
    def traffic(self) -> Traffic:
        """What was sent and received so far."""

    @property
    @abstractmethod
    def things_of_flow(self) -> Sequence[int]:
        """``things`` of each flow."""

    @abstractmethod
    def levels(self) -> Mapping[str, int]:
        """States that no subtraction makes sense of, such as dead flows. Asked for when the loop has ended."""


@dataclass(frozen=True, slots=True)
class ClientShare:
    """What one thread of a client gets.

    ``limit``: things after which it ends, 0 for none. ``rate``: things per second to start, 0 for a closed loop;
    ``phase`` the fraction of a gap until the first, so that threads take turns.
    """

    thread: int
    flows: Flows
    limit: int
    rate: float
    phase: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How long a run is: ``seconds``, or 0 and then ``things`` over all threads of the client.

    ``rate``: things per second to start over all threads, 0 for a closed loop.
    """

    seconds: int
    things: int
    rate: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured: ``trend`` of all threads' things, and all their counters, both less the warm-up.

    ``logged`` is how many transactions the program's own log file has, None if it wrote none.
    """

    trend: Trend
    counters: Counters
    logged: int | None


class Program(ABC, Generic[OptionsT]):
    """One of neper's programs, with the options that are in effect; ``options_type`` are those that it understands.

    ``secret`` tells servers that a client is of the same program. Raises ValueError that names the flag which is wrong.
    """

    name: ClassVar[str]
    secret: ClassVar[bytes]
    options_type: ClassVar[type[Tcp]]

    def __init__(self, options: OptionsT) -> None:
        self._options = options

    @property
    def options(self) -> OptionsT:
        """The options in effect."""
        return self._options

    @property
    @abstractmethod
    def things(self) -> str:
        """The name of what is counted."""

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """How long the run is to be, and how fast."""

    @property
    @abstractmethod
    def reports(self) -> bool:
        """Whether this side prints statistics."""

    @property
    def percentiles(self) -> Sequence[float]:
        """The percentiles of the latency that are asked for, for programs that measure one."""
        return ()

    @abstractmethod
    def client_options(self) -> list[SocketOption]:
        """Options of each socket that is to connect."""

    @abstractmethod
    def server_options(self) -> list[SocketOption]:
        """Options of listeners, and so of the sockets that they accept."""

    @abstractmethod
    def client(self, share: ClientShare) -> Worker:
        """A thread of the client."""

    @abstractmethod
    def server(self, listeners: Sequence[int]) -> Worker:
        """A thread of the server, for listening sockets that stay open longer than it."""

    @abstractmethod
    def statistics(self, figures: Figures) -> Iterator[Line]:
        """The statistics before ``num_samples``."""

    @abstractmethod
    def throughput(self, figures: Figures) -> Iterator[Line]:
        """The lines that end the statistics: the throughput, and its unit if it has one."""

    @abstractmethod
    def control_rate(self, figures: Figures) -> int:
        """The rate that the other side is told: transactions, or bits, per second."""

    def check_files(self) -> None:
        """Raise FileRefused for a file that a flag names and that cannot be written: after the run it is too late."""
        check_writable("--all-samples", self.options.all_samples)

    def write_log(self, workers: Sequence[Worker]) -> int | None:
        """Write the program's own log file, if a flag asks for one: how many transactions it has, else None."""
        return None

    def epilogue(self, figures: Figures) -> Iterator[Line]:
        """Lines between the control connection's end and the two throughputs."""
        yield from ()
