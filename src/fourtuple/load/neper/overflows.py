"""Connections that listeners of this network namespace could not take, which nothing else tells of."""

from __future__ import annotations

from typing import NamedTuple


class ListenDrops(NamedTuple):
    """``overflows``: the accept queue was full. ``drops``: SYNs that listeners dropped for any reason, these included.

    The kernel counts them as ``TcpExt ListenOverflows`` and ``ListenDrops``, for all listeners of the namespace.
    """

    overflows: int
    drops: int

    def since(self, earlier: ListenDrops) -> ListenDrops:
        """What came on top."""
        return ListenDrops(self.overflows - earlier.overflows, self.drops - earlier.drops)


def listen_drops() -> ListenDrops:
    """Those of the calling thread's network namespace so far."""
    with open("/proc/thread-self/net/netstat", encoding="ascii") as netstat:
        return parse_netstat(netstat.read())


def parse_netstat(text: str) -> ListenDrops:
    """The counters in the text of ``/proc/net/netstat``: lines of names, each followed by one of values."""
    names, values = (line.split() for line in text.splitlines() if line.startswith("TcpExt:"))
    counters = dict(zip(names[1:], map(int, values[1:]), strict=True))
    return ListenDrops(counters["ListenOverflows"], counters["ListenDrops"])
