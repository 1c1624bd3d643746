"""The flags of neper's programs: the one table that the command line, the options dump and the documents come from.

A field is a flag, in the order in which neper defines them; the dump has them in the reverse order. The flags that are
ours come first, and the dump leaves them out, so that whoever reads neper's output reads this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple, TypeVar, cast

from .kinds import (
    DURATION,
    FILE,
    HOSTS,
    INTEGER,
    PERCENTILES,
    PORT,
    RATE,
    REAL,
    SWITCH,
    TEXT,
    UNSIGNED,
    Kind,
    choice,
)

T = TypeVar("T")

NEPER_VERSION: Final = "1.1.0"
"""The version of neper whose flags, output and protocol are followed."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag beside its name and default. ``bare``: the value of the flag without one, if it may stand alone.

    ``remark``: how it differs from neper's flag, for the documents. ``ours``: neper has no such flag.
    """

    kind: Kind[Any]
    help: str
    letter: str = ""
    bare: str | None = None
    remark: str = ""
    ours: bool = False


class NamedFlag(NamedTuple):
    """A flag with the name and default of its field."""

    field: str
    default: Any
    flag: Flag

    @property
    def spelling(self) -> str:
        """As it is typed: ``--num-flows``."""
        return spelling(self.field)


def spelling(name: str) -> str:
    """The flag of a field, as it is typed."""
    return "--" + name.replace("_", "-")


def flag(
    kind: Kind[T],
    default: T,
    help: str,
    *,
    letter: str = "",
    bare: str | None = None,
    remark: str = "",
) -> T:
    """A field that is a flag of neper's; the arguments are those of `Flag`."""
    return field(default=default, metadata={"flag": Flag(kind, help, letter, bare, remark)})


def our_flag(kind: Kind[T], default: T, help: str, *, bare: str | None = None) -> T:
    """A field that is a flag which neper does not have."""
    return field(default=default, metadata={"flag": Flag(kind, help, bare=bare, ours=True)})


@dataclass(frozen=True, kw_only=True)
class Common:
    """What every program understands. Times are in the units of the flags, rates in bytes per second."""

    ports: str = our_flag(choice("kernel", "fourtuple"), "kernel", "who chooses the source ports (client)")
    rate: float = our_flag(REAL, 0.0, "open loop: transactions a second over all threads, 0 for a closed loop (client)")
    arrivals: str = our_flag(choice("even", "poisson"), "even", "how the transactions of --rate are spaced")
    warmup: float = our_flag(REAL, 0.0, "seconds after the first transaction that no figure includes")
    json: str = our_flag(FILE, "", "write one JSON object: to FILE, or in place of the other output", bare="-")
    engine: str = our_flag(choice("epoll"), "epoll", "what the event loops are made of")

    magic: int = flag(INTEGER, 42, "number in all control messages, the same on both sides")
    maxevents: int = flag(
        INTEGER, 1000, "events asked for at once", remark="without effect: a loop always asks for up to 256"
    )
    num_flows: int = flag(INTEGER, 1, "connections over all threads", letter="F")
    num_threads: int = flag(INTEGER, 1, "threads, each with an event loop", letter="T")
    num_clients: int = flag(INTEGER, 1, "clients that the server waits for")
    listen_backlog: int = flag(INTEGER, 128, "backlog of each listening socket")
    suicide_length: int = flag(INTEGER, 0, "seconds until the program ends with status 255", letter="s")
    source_port: int = flag(
        INTEGER,
        -1,
        "source port of the first flow; each further flow has the next one",
        remark="a flow keeps its port when it connects anew",
    )
    stime_use_proc: bool = flag(SWITCH, False, "take system time from /proc/stat, of the whole machine", letter="S")
    ipv4: bool = flag(SWITCH, False, "IPv4 alone", letter="4")
    ipv6: bool = flag(SWITCH, False, "IPv6 alone; a server then takes IPv4 clients too", letter="6")
    client: bool = flag(SWITCH, False, "be the client", letter="c")
    debug: bool = flag(SWITCH, False, "set SO_DEBUG on data sockets", letter="d")
    dry_run: bool = flag(SWITCH, False, "print the options and end", letter="n")
    pin_cpu: bool = flag(SWITCH, False, "pin threads to CPUs, one after the other", letter="U")
    logtostderr: bool = flag(SWITCH, False, "log to standard error")
    nolog: bool = flag(SWITCH, False, "do not log", remark="the default: there is no log file")
    nonblocking: bool = flag(
        SWITCH, False, "make sockets non-blocking", remark="without effect: they always are, and no loop spins"
    )
    freebind: bool = flag(SWITCH, False, "allow addresses that no interface has", remark="listening sockets too")
    interval: float = flag(REAL, 1.0, "seconds between samples", letter="I")
    max_pacing_rate: int = flag(
        RATE,
        0,
        "pace each flow, in bytes a second or with a unit",
        letter="m",
        remark="Kb, Mb, KB, MB, KiB... are what they say, where neper takes them all for KiB and MiB",
    )
    local_hosts: tuple[str, ...] = flag(
        HOSTS,
        (),
        "source addresses, taken in turn by the flows (client)",
        letter="L",
        remark="a flow keeps its address when it connects anew",
    )
    host: str = flag(TEXT, "", "server; for a server the address to listen on", letter="H")
    control_port: int = flag(PORT, 12866, "port of the control connection", letter="C")
    port: int = flag(PORT, 12867, "first data port", letter="P")
    all_samples: str = flag(FILE, "", "write every sample of every flow to a CSV file", letter="A", bare="samples.csv")
    time_wait: bool = flag(SWITCH, False, "close in the ordinary way, and not with a reset (client)")
    iostat_ms: int = flag(UNSIGNED, 0, "print what was sent and received, every so many milliseconds (client)")
    wait_start: int = flag(UNSIGNED, 0, "seconds to wait before the start (client)")


@dataclass(frozen=True, kw_only=True)
class Tcp(Common):
    """What the programs over TCP understand."""

    num_ports: int = flag(
        INTEGER,
        1,
        "data ports, taken in turn by the flows",
        remark="a flow keeps its port when it connects anew",
    )
    tcp_fastopen: bool = flag(SWITCH, False, "connect with TCP_FASTOPEN_CONNECT", letter="X")
    tcp_tx_delay: int = flag(INTEGER, 0, "set TCP_TX_DELAY, in microseconds", letter="t")
    no_delay: bool = flag(SWITCH, False, "set TCP_NODELAY")
    congestion_control: str = flag(TEXT, "", "congestion control of data sockets")


@dataclass(frozen=True, kw_only=True)
class Transactions(Tcp):
    """What tcp_crr and tcp_rr understand."""

    engine: str = our_flag(choice("epoll", "io_uring"), "epoll", "what the event loops are made of")

    request_size: int = flag(INTEGER, 1, "bytes of a request", letter="Q")
    response_size: int = flag(INTEGER, 1, "bytes of a response", letter="R")
    percentiles: tuple[float, ...] = flag(PERCENTILES, (), "percentiles of the latency to print", letter="p")
    test_length: int = flag(INTEGER, 10, "seconds; below 0, the number of transactions", letter="l")
    buffer_size: int = flag(
        INTEGER,
        65536,
        "most bytes of one send or receive",
        letter="B",
        remark="without effect: the buffer has the size of the longer message",
    )
    log_rtt: str = flag(FILE, "", "write the latency of every transaction to a file (client)", bare="rtt_samples.txt")
    logrtt_entries_per_flow: int = flag(INTEGER, 10000, "transactions of each flow that --log-rtt writes at most")
    mark: int = flag(INTEGER, 0, "set SO_MARK on data sockets", letter="M")


@dataclass(frozen=True, kw_only=True)
class Crr(Transactions):
    """What tcp_crr understands."""

    async_connect: bool = flag(SWITCH, True, "connect without waiting", remark="without effect: it always does")


@dataclass(frozen=True, kw_only=True)
class Rr(Transactions):
    """What tcp_rr understands."""

    delay: int = flag(DURATION, 0, "start the transactions of each flow that far apart", letter="D")
    async_connect: bool = flag(SWITCH, False, "connect without waiting", remark="without effect: it always does")
    reuseaddr: bool = flag(SWITCH, False, "set SO_REUSEADDR on data sockets")
    noburst: int = flag(
        DURATION,
        0,
        "start transactions that far apart, over all flows",
        remark="an open loop, as --rate: the latency counts from the time when a transaction was to start",
    )


def flags(options: type[Common] | Common) -> Iterator[NamedFlag]:
    """All flags of a program, in the order of definition."""
    for entry in fields(options):
        yield NamedFlag(entry.name, entry.default, cast("Flag", entry.metadata["flag"]))


def dump(options: Common) -> Iterator[tuple[str, str]]:
    """The options in effect as (key, value), as neper prints them before a run."""
    yield "VERSION", NEPER_VERSION
    for name, _, flag in reversed(list(flags(options))):
        if not flag.ours:
            yield name, flag.kind.show(getattr(options, name))
