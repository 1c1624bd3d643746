"""tcp_stream's flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .kinds import DURATION, INTEGER, SWITCH, Kind
from .options import Tcp, flag
from .units import UNITS

AUTOMATIC: Final = {f"auto-{suffix}": tuple(letter + suffix for letter in "KMG") for suffix in ("b", "ib", "B", "iB")}
"""Names that leave the choice among several units to the value."""


def _unit(text: str) -> str:
    names = (*UNITS, *AUTOMATIC)
    if text not in names:
        raise ValueError(f"{text!r} is no unit of rates; they are {' '.join(names)}")
    return text


@dataclass(frozen=True, kw_only=True)
class StreamOptions(Tcp):
    """What tcp_stream understands."""

    test_length: int = flag(INTEGER, 10, "seconds", letter="l")
    edge_trigger: bool = flag(
        SWITCH,
        False,
        "have events told by their edge",
        letter="E",
        remark="other flows and the end of the run get their turn, where neper goes on with a flow while it can",
    )
    reuseaddr: bool = flag(SWITCH, False, "set SO_REUSEADDR on data sockets", letter="R")
    zerocopy: bool = flag(SWITCH, False, "send with MSG_ZEROCOPY", letter="Z")
    throughput_opt: str = flag(
        Kind("UNIT", _unit, str),
        "Mb",
        "unit of the throughput",
        remark="the automatic ones find a unit for every value",
    )
    delay: int = flag(
        DURATION,
        0,
        "pause of the whole thread after each write",
        letter="D",
        remark="nanoseconds without a unit; neper knows no other",
    )
    buffer_size: int = flag(INTEGER, 16384, "bytes of one write or read", letter="B")
    skip_rx_copy: bool = flag(SWITCH, False, "have the kernel drop what arrives in place of copying it")
    rx_zerocopy: bool = flag(
        SWITCH,
        False,
        "receive with TCP_ZEROCOPY_RECEIVE, at least the buffer size at once",
        letter="z",
        remark="one mapping of the buffer size for each thread, not for each flow",
    )
    enable_read: bool = flag(SWITCH, False, "read; a server does anyway", letter="r")
    enable_write: bool = flag(SWITCH, False, "write; a client does anyway", letter="w")
    split_bidir: bool = flag(
        SWITCH,
        False,
        "both directions, each on connections of its own: twice the flows",
        remark="both directions run at full rate; neper's server stops writing after one buffer",
    )
    enable_tcp_maerts: bool = flag(SWITCH, False, "the server writes, the client reads: give it to both", letter="M")
    async_connect: bool = flag(
        SWITCH, False, "connect without waiting", remark="without effect: no connection waits for another"
    )
    no_cork: bool = flag(SWITCH, False, "send without MSG_MORE")
    mark: int = flag(INTEGER, 0, "set SO_MARK on data sockets")
