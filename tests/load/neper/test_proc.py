"""What is read from /proc."""

from __future__ import annotations

from fourtuple.load.neper.overflows import ListenDrops, parse_netstat
from fourtuple.load.neper.usage import machine_system_time, process_usage, system_seconds, usage_by_machine

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
    assert machine_system_time() > 0
    usage = usage_by_machine()()
    assert 0 <= usage.stime < machine_system_time()
    assert usage.utime <= process_usage().utime
