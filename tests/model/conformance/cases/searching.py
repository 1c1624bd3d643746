"""Where connect() looks: parity, ranges of every size, reserved ports, the socket's own range, exhaustion."""

from __future__ import annotations

from errno import EADDRNOTAVAIL, EINVAL

from model.conformance.hosts import (
    NO_PORT,
    Host,
    Option,
    Sock,
    bound,
    connected,
    opened,
    port_of,
    refusal,
    within,
)


def _taken(host: Host, count: int, *options: Option) -> list[int]:
    """The ports of so many new connections to the usual server, which stay."""
    return [port_of(connected(host, None, *options)) for _ in range(count)]


def _exhausted(host: Host, *options: Option) -> None:
    """Not one connection more can be made to the usual server."""
    with refusal(EADDRNOTAVAIL):
        connected(host, None, *options)


def the_parity_of_the_lower_bound_comes_first(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert _taken(host, 2) == [20000, 20001]
    _exhausted(host)


def an_odd_lower_bound_makes_odd_ports_come_first(host: Host) -> None:
    host.configure(ip_local_port_range=(20001, 20002))
    assert _taken(host, 2) == [20001, 20002]
    _exhausted(host)


def one_parity_is_used_up_before_the_other(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20019))
    assert set(_taken(host, 10)) == set(range(20000, 20020, 2))
    assert set(_taken(host, 10)) == set(range(20001, 20020, 2))
    _exhausted(host)


def odd_ports_are_used_up_first_from_an_odd_bound(host: Host) -> None:
    host.configure(ip_local_port_range=(20001, 20020))
    assert set(_taken(host, 10)) == set(range(20001, 20020, 2))
    assert set(_taken(host, 10)) == set(range(20002, 20021, 2))
    _exhausted(host)


def a_freed_port_of_the_first_parity_is_preferred(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    socks = {port_of(sock): sock for sock in [connected(host) for _ in range(7)]}
    socks[20004].reset()
    assert _taken(host, 1) == [20004]


def a_range_of_one_port_gives_it(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    assert _taken(host, 1) == [20000]
    _exhausted(host)


def of_three_ports_the_last_is_never_found(host: Host) -> None:
    # An odd size is rounded down for the first port to try, and wraps by the rounded size.
    host.configure(ip_local_port_range=(20000, 20002))
    assert _taken(host, 2) == [20000, 20001]
    _exhausted(host)


def of_five_ports_one_is_missed(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20004))
    first, second, *rest = _taken(host, 4)
    # The scan ends before it comes to a bound twice: whether the first or the last port is left out goes by its start,
    # which every success moves, so that one more may be found.
    assert {first, second} <= {20000, 20002, 20004}
    assert len({first, second, *rest}) == 4
    assert {20001, 20003} <= {first, second, *rest} or {20000, 20002, 20004} <= {first, second, *rest}


def a_reserved_port_is_passed_over(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003), ip_local_reserved_ports={20000})
    assert _taken(host, 1) == [20002]
    assert set(_taken(host, 2)) == {20001, 20003}
    _exhausted(host)


def with_all_ports_reserved_there_is_none(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003), ip_local_reserved_ports=set(range(20000, 20004)))
    _exhausted(host)


def reserved_ports_outside_the_range_do_not_matter(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001), ip_local_reserved_ports={19999, 20002})
    assert _taken(host, 2) == [20000, 20001]


def a_port_is_no_longer_reserved_when_the_list_is_emptied(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000), ip_local_reserved_ports={20000})
    _exhausted(host)
    host.configure(ip_local_reserved_ports=set[int]())
    assert _taken(host, 1) == [20000]


def a_range_of_its_own_may_be_one_port(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    assert _taken(host, 1, within(20007, 20007)) == [20007]
    _exhausted(host, within(20007, 20007))


def a_range_of_its_own_has_no_parity(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    assert set(_taken(host, 3, within(20003, 20005))) == {20003, 20004, 20005}
    _exhausted(host, within(20003, 20005))


def a_range_of_its_own_is_for_that_socket_alone(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert _taken(host, 1, within(20001, 20001)) == [20001]
    assert _taken(host, 1) == [20000]


def a_range_of_its_own_outside_the_systems_is_ignored(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert set(_taken(host, 2, within(30000, 30001))) == {20000, 20001}


def an_upper_bound_outside_the_systems_is_ignored(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    assert set(_taken(host, 2, within(20002, 20010))) == {20002, 20003}
    _exhausted(host, within(20002, 20010))


def a_lower_bound_outside_the_systems_is_ignored(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    assert set(_taken(host, 2, within(19990, 20001))) == {20000, 20001}
    _exhausted(host, within(19990, 20001))


def a_lower_bound_alone_will_do(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    assert set(_taken(host, 2, within(20002, 0))) == {20002, 20003}
    _exhausted(host, within(20002, 0))


def an_upper_bound_alone_will_do(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    assert set(_taken(host, 2, within(0, 20001))) == {20000, 20001}
    _exhausted(host, within(0, 20001))


def bounds_the_wrong_way_round_are_refused(host: Host) -> None:
    with refusal(EINVAL):
        opened(host, within(20003, 20002))


def a_reserved_port_stays_so_in_a_range_of_its_own(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003), ip_local_reserved_ports={20002})
    _exhausted(host, within(20002, 20002))
    assert _taken(host, 1, within(20002, 20003)) == [20003]


def another_range_after_a_failure_will_do(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    connected(host, None, within(20002, 20002))
    sock = opened(host, within(20002, 20002))
    with refusal(EADDRNOTAVAIL):
        sock.connect(host.addresses.server)
    sock.setsockopt(*within(20003, 20003))
    sock.connect(host.addresses.server)
    assert port_of(sock) == 20003


def a_failed_connect_leaves_no_port(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    holder = connected(host)
    sock = opened(host)
    with refusal(EADDRNOTAVAIL):
        sock.connect(host.addresses.server)
    assert port_of(sock) == 0
    holder.reset()
    sock.connect(host.addresses.server)
    assert port_of(sock) == 20000


def a_failure_does_not_move_the_search(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    socks: list[Sock] = [connected(host) for _ in range(4)]
    for _ in range(3):
        _exhausted(host)
    by_port = {port_of(sock): sock for sock in socks}
    by_port[20001].reset()
    assert _taken(host, 1) == [20001]


def the_range_of_the_moment_counts(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    _taken(host, 2)
    host.configure(ip_local_port_range=(20100, 20101))
    assert _taken(host, 2) == [20100, 20101]
    _exhausted(host)


def an_address_without_a_port_leaves_the_search_as_it_is(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    sock = bound(host, 0, NO_PORT, on=host.addresses.here)
    assert sock.getsockname()[:2] == (host.addresses.here, 0)
    sock.connect(host.addresses.server)
    assert sock.getsockname()[:2] == (host.addresses.here, 20000)
    assert _taken(host, 1) == [20001]
