"""TIME_WAIT and FIN_WAIT2: what they block, for whom, and under which settings."""

from __future__ import annotations

from errno import EADDRINUSE, EADDRNOTAVAIL

from model.conformance.hosts import (
    BRIEF,
    LONG,
    REUSE,
    Address,
    Host,
    Option,
    bound,
    connected,
    leave_time_wait,
    port_of,
    refusal,
    within,
)


def _after_time_wait(host: Host, to: Address | None = None, *options: Option, **settings: int) -> None:
    """Leave the only port in TIME_WAIT, longer than a brief delay."""
    host.configure(ip_local_port_range=(20000, 20000), **settings)
    leave_time_wait(host, connected(host, to, *options))
    host.outlast(10 * BRIEF)


def _reused(host: Host, to: Address | None = None, *options: Option) -> None:
    assert port_of(connected(host, to, *options)) == 20000
    # The new connection has taken the place of the old one.
    with refusal(EADDRNOTAVAIL):
        connected(host, to, *options)


def _blocked(host: Host, to: Address | None = None, *options: Option) -> None:
    with refusal(EADDRNOTAVAIL):
        connected(host, to, *options)


def without_reuse_it_blocks(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=0, tcp_tw_reuse_delay=BRIEF)
    _blocked(host)


def with_reuse_and_the_delay_over_it_is_taken_over(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    _reused(host)


def with_reuse_it_blocks_until_the_delay_is_over(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=LONG)
    _blocked(host)


def the_delay_of_the_moment_counts(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=LONG)
    host.configure(tcp_tw_reuse_delay=BRIEF)
    _reused(host)


def reuse_outside_loopback_takes_mode_1(host: Host) -> None:
    to = host.addresses.server_outside_loopback
    _after_time_wait(host, to, tcp_tw_reuse=2, tcp_tw_reuse_delay=BRIEF)
    _blocked(host, to)
    host.configure(tcp_tw_reuse=1)
    _reused(host, to)


def mode_2_reuses_on_loopback(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=2, tcp_tw_reuse_delay=BRIEF)
    _reused(host)


def mode_2_waits_for_the_delay_on_loopback(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=2, tcp_tw_reuse_delay=LONG)
    _blocked(host)


def the_mode_at_first_is_2(host: Host) -> None:
    to = host.addresses.server_outside_loopback
    _after_time_wait(host, to, tcp_tw_reuse_delay=BRIEF)
    _blocked(host, to)
    leave_time_wait(host, connected(host))
    host.outlast(10 * BRIEF)
    _reused(host)


def the_delay_at_first_is_longer_than_an_instant(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000), tcp_tw_reuse=1)
    leave_time_wait(host, connected(host))
    _blocked(host)


def without_timestamps_it_is_never_taken_over(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF, tcp_timestamps=0)
    _blocked(host)


def the_timestamps_of_the_old_connection_count(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    host.configure(tcp_timestamps=0)
    _reused(host)


def timestamps_switched_on_later_do_not_help(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF, tcp_timestamps=0)
    host.configure(tcp_timestamps=1)
    _blocked(host)


def other_destinations_are_not_blocked(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=0)
    assert port_of(connected(host, host.addresses.second_server)) == 20000
    _blocked(host)


def a_blocked_port_is_passed_over(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001), tcp_tw_reuse=0)
    leave_time_wait(host, connected(host))
    assert port_of(connected(host)) == 20001
    _blocked(host)


def a_reusable_port_is_no_worse_than_a_free_one(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001), tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    leave_time_wait(host, connected(host))
    host.outlast(10 * BRIEF)
    assert [port_of(connected(host)) for _ in range(2)] == [20000, 20001]


def a_range_of_one_port_follows_the_same_rules(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009), tcp_tw_reuse=0, tcp_tw_reuse_delay=BRIEF)
    leave_time_wait(host, connected(host, None, within(20005, 20005)))
    host.outlast(10 * BRIEF)
    _blocked(host, None, within(20005, 20005))
    host.configure(tcp_tw_reuse=1)
    assert port_of(connected(host, None, within(20005, 20005))) == 20005


def taking_over_can_go_on(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    for _ in range(3):
        leave_time_wait(host, connected(host))
        host.outlast(10 * BRIEF)
    _reused(host)


def fin_wait_2_blocks_whatever_the_settings(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000), tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    connected(host).close()
    host.outlast(10 * BRIEF)
    _blocked(host)


def fin_wait_2_turns_into_time_wait_when_the_peer_closes(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000), tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    sock = connected(host)
    sock.close()
    _blocked(host)
    host.peer_closes(sock)
    host.outlast(10 * BRIEF)
    _reused(host)


def an_explicit_port_is_reused_at_once_whatever_the_settings(host: Host) -> None:
    host.configure(tcp_tw_reuse=0, tcp_tw_reuse_delay=LONG)
    for _ in range(3):
        sock = bound(host, 21000, REUSE)
        sock.connect(host.addresses.server)
        assert port_of(sock) == 21000
        leave_time_wait(host, sock)


def an_explicit_port_is_not_reused_without_timestamps(host: Host) -> None:
    host.configure(tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF, tcp_timestamps=0)
    sock = bound(host, 21000, REUSE)
    sock.connect(host.addresses.server)
    leave_time_wait(host, sock)
    host.outlast(10 * BRIEF)
    sock = bound(host, 21000, REUSE)
    with refusal(EADDRNOTAVAIL):
        sock.connect(host.addresses.server)


def an_explicit_port_in_fin_wait_2_is_taken_over(host: Host) -> None:
    sock = bound(host, 21000, REUSE)
    sock.connect(host.addresses.server)
    sock.close()
    sock = bound(host, 21000, REUSE)
    sock.connect(host.addresses.server)
    assert port_of(sock) == 21000


def bind_finds_a_port_in_time_wait_in_use(host: Host) -> None:
    _after_time_wait(host, tcp_tw_reuse=1, tcp_tw_reuse_delay=BRIEF)
    with refusal(EADDRINUSE):
        bound(host, 20000)


def bind_needs_reuseaddr_of_the_socket_that_left_time_wait(host: Host) -> None:
    _after_time_wait(host)
    with refusal(EADDRINUSE):
        bound(host, 20000, REUSE)


def bind_takes_a_port_in_time_wait_with_reuseaddr_on_both_sides(host: Host) -> None:
    _after_time_wait(host, None, REUSE, tcp_tw_reuse=0)
    sock = bound(host, 20000, REUSE)
    sock.connect(host.addresses.server)
    assert port_of(sock) == 20000


def a_port_in_time_wait_does_not_bother_another_address(host: Host) -> None:
    _after_time_wait(host)
    assert port_of(bound(host, 20000, on=host.addresses.others[0])) == 20000


def a_listener_may_start_on_a_port_in_time_wait_with_reuseaddr(host: Host) -> None:
    _after_time_wait(host, None, REUSE)
    sock = bound(host, 20000, REUSE)
    sock.listen()
    assert port_of(sock) == 20000
