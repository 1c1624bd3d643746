"""bind(): who may share a port with whom, and what a bound socket may still do."""

from __future__ import annotations

import socket
from errno import EADDRINUSE, EADDRNOTAVAIL, EINVAL, EISCONN

from model.conformance.hosts import (
    NO_PORT,
    REUSE,
    REUSE_PORT,
    V4,
    V6,
    Host,
    bound,
    connected,
    opened,
    port_of,
    refusal,
    within,
)


def a_port_is_taken_once(host: Host) -> None:
    bound(host, 21000)
    with refusal(EADDRINUSE):
        bound(host, 21000)


def a_closed_socket_gives_its_port_back(host: Host) -> None:
    bound(host, 21000).close()
    assert port_of(bound(host, 21000)) == 21000


def a_port_is_shared_if_both_have_reuseaddr(host: Host) -> None:
    assert port_of(bound(host, 21000, REUSE)) == port_of(bound(host, 21000, REUSE)) == 21000


def reuseaddr_of_the_first_alone_is_not_enough(host: Host) -> None:
    bound(host, 21000, REUSE)
    with refusal(EADDRINUSE):
        bound(host, 21000)


def reuseaddr_of_the_second_alone_is_not_enough(host: Host) -> None:
    bound(host, 21000)
    with refusal(EADDRINUSE):
        bound(host, 21000, REUSE)


def a_third_without_reuseaddr_is_not_let_in(host: Host) -> None:
    bound(host, 21000, REUSE)
    bound(host, 21000, REUSE)
    with refusal(EADDRINUSE):
        bound(host, 21000)


def a_listener_does_not_share_its_port_by_reuseaddr(host: Host) -> None:
    bound(host, 21000, REUSE).listen()
    with refusal(EADDRINUSE):
        bound(host, 21000, REUSE)


def of_two_that_share_one_may_listen(host: Host) -> None:
    first, second = bound(host, 21000, REUSE), bound(host, 21000, REUSE)
    first.listen()
    with refusal(EADDRINUSE):
        second.listen()


def another_may_listen_once_the_listener_is_gone(host: Host) -> None:
    first, second = bound(host, 21000, REUSE), bound(host, 21000, REUSE)
    first.listen()
    first.close()
    second.listen()


def listeners_share_a_port_if_both_have_reuseport(host: Host) -> None:
    bound(host, 21000, REUSE_PORT).listen()
    bound(host, 21000, REUSE_PORT).listen()


def reuseport_of_one_alone_is_not_enough(host: Host) -> None:
    bound(host, 21000, REUSE_PORT)
    with refusal(EADDRINUSE):
        bound(host, 21000)


def two_addresses_have_the_port_each(host: Host) -> None:
    for address in host.addresses.others:
        assert port_of(bound(host, 21000, on=address)) == 21000


def the_wildcard_overlaps_with_every_address(host: Host) -> None:
    bound(host, 21000, on=host.addresses.others[0])
    with refusal(EADDRINUSE):
        bound(host, 21000)


def every_address_overlaps_with_the_wildcard(host: Host) -> None:
    bound(host, 21000)
    with refusal(EADDRINUSE):
        bound(host, 21000, on=host.addresses.others[0])


def the_wildcard_of_ipv6_overlaps_with_ipv4(host: Host) -> None:
    host.socket(socket.AF_INET6).bind((V6.any, 21000))
    with refusal(EADDRINUSE):
        host.socket(socket.AF_INET).bind((V4.here, 21000))


def an_ipv6_address_does_not_overlap_with_ipv4(host: Host) -> None:
    host.socket(socket.AF_INET6).bind((V6.here, 21000))
    host.socket(socket.AF_INET).bind((V4.any, 21000))


def the_wildcard_of_ipv4_overlaps_with_ipv6_connections(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    sock = host.socket(socket.AF_INET6)
    sock.connect(V6.server)
    with refusal(EADDRINUSE):
        host.socket(socket.AF_INET).bind((V4.any, 20000))
    host.socket(socket.AF_INET).bind((V4.here, 20000))


def the_wildcard_of_ipv4_overlaps_with_no_ipv6_only_connection(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    sock = host.socket(socket.AF_INET6)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.connect(V6.server)
    host.socket(socket.AF_INET).bind((V4.any, 20000))


def an_address_of_another_machine_is_refused(host: Host) -> None:
    with refusal(EADDRNOTAVAIL):
        bound(host, 21000, on=host.addresses.foreign)


def an_address_of_another_machine_is_refused_without_a_port_too(host: Host) -> None:
    with refusal(EADDRNOTAVAIL):
        bound(host, 0, NO_PORT, on=host.addresses.foreign)


def the_port_of_a_connection_is_in_use(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    connected(host)
    with refusal(EADDRINUSE):
        bound(host, 20000)


def a_connection_without_reuseaddr_does_not_share(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    connected(host)
    with refusal(EADDRINUSE):
        bound(host, 20000, REUSE)


def a_connection_with_reuseaddr_shares_with_its_like(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    connected(host, None, REUSE)
    with refusal(EADDRINUSE):
        bound(host, 20000)
    assert port_of(bound(host, 20000, REUSE)) == 20000


def the_port_of_a_connection_is_free_on_another_address(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    connected(host)
    assert port_of(bound(host, 20000, on=host.addresses.others[0])) == 20000


def explicit_ports_may_be_reserved(host: Host) -> None:
    host.configure(ip_local_reserved_ports={21000})
    assert port_of(bound(host, 21000)) == 21000


def explicit_ports_may_be_outside_every_range(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert port_of(bound(host, 21000, within(20000, 20000))) == 21000


def a_socket_is_bound_once(host: Host) -> None:
    sock = bound(host, 21000)
    with refusal(EINVAL):
        sock.bind((host.addresses.any, 21001))


def a_connected_socket_cannot_be_bound(host: Host) -> None:
    sock = connected(host)
    with refusal(EINVAL):
        sock.bind((host.addresses.any, 21000))


def a_socket_is_connected_once(host: Host) -> None:
    sock = connected(host)
    with refusal(EISCONN):
        sock.connect(host.addresses.second_server)


def an_explicit_port_may_be_bound_and_yet_not_connect(host: Host) -> None:
    sock = bound(host, 21000, REUSE)
    sock.connect(host.addresses.server)
    sock = bound(host, 21000, REUSE)
    with refusal(EADDRNOTAVAIL):
        sock.connect(host.addresses.server)


def a_socket_stays_bound_when_it_could_not_connect(host: Host) -> None:
    bound(host, 21000, REUSE).connect(host.addresses.server)
    sock = bound(host, 21000, REUSE)
    with refusal(EADDRNOTAVAIL):
        sock.connect(host.addresses.server)
    assert port_of(sock) == 21000
    with refusal(EINVAL):
        sock.bind((host.addresses.any, 21001))
    sock.connect(host.addresses.second_server)
    assert port_of(sock) == 21000


def explicit_ports_connect_to_several_destinations(host: Host) -> None:
    for to in (host.addresses.server, host.addresses.second_server):
        sock = bound(host, 21000, REUSE)
        sock.connect(to)
        assert port_of(sock) == 21000


def port_0_takes_the_other_parity_first(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    assert {port_of(bound(host, 0)) for _ in range(5)} == set(range(20001, 20010, 2))
    assert {port_of(bound(host, 0)) for _ in range(5)} == set(range(20000, 20010, 2))


def port_0_is_refused_when_all_are_bound(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert [port_of(bound(host, 0)) for _ in range(2)] == [20001, 20000]
    with refusal(EADDRINUSE):
        bound(host, 0)


def port_0_passes_reserved_ports_over(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001), ip_local_reserved_ports={20001})
    assert port_of(bound(host, 0)) == 20000
    with refusal(EADDRINUSE):
        bound(host, 0)


def port_0_heeds_a_range_of_its_own(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    assert port_of(bound(host, 0, within(20004, 20004))) == 20004
    with refusal(EADDRINUSE):
        bound(host, 0, within(20004, 20004))


def port_0_is_exclusive_even_with_reuseaddr(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert {port_of(bound(host, 0, REUSE)) for _ in range(2)} == {20000, 20001}
    with refusal(EADDRINUSE):
        bound(host, 0)


def port_0_on_two_addresses_shares_a_port(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    for address in host.addresses.others:
        assert port_of(bound(host, 0, on=address)) == 20000


def port_0_passes_the_ports_of_connections_over(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20001))
    assert port_of(connected(host, None, within(20001, 20001))) == 20001
    assert port_of(bound(host, 0)) == 20000
    with refusal(EADDRINUSE):
        bound(host, 0)


def listening_without_bind_takes_a_port(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    sock = opened(host)
    sock.listen()
    assert port_of(sock) == 20000
    with refusal(EADDRINUSE):
        opened(host).listen()


def an_address_without_a_port_takes_none(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20000))
    for _ in range(3):
        assert port_of(bound(host, 0, NO_PORT, on=host.addresses.here)) == 0
    assert port_of(connected(host)) == 20000
