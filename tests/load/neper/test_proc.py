"""What is read from /proc."""

from __future__ import annotations

from fourtuple.load.neper.overflows import ListenDrops, parse_netstat
from fourtuple.load.neper.usage import process_usage, system_seconds, usage_by_machine

NETSTAT = """\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPHPHits
TcpExt: 1 20 30 4
IpExt: InNoRoutes ListenDrops
IpExt: 5 6
"""


def test_full_listeners_are_counted() -> None:
    assert parse_netstat(NETSTAT) == ListenDrops(20, 30)
    assert ListenDrops(20, 30).since(ListenDrops(5, 7)) == ListenDrops(15, 23)


def test_system_time_includes_interrupts() -> None:
    assert system_seconds("cpu  100 2 300 4000 5 60 7 0 0 0\n", 100) == 3.67


def test_the_systems_time_can_be_that_of_the_machine() -> None:
    with usage_by_machine() as usage:
        assert usage().utime <= process_usage().utime
        times = [usage().stime]
        # The machine's clock ticks on while this process is at work.
        while times[-1] == times[0]:
            times.append(usage().stime)
    assert 0 <= times[0] < times[-1]
