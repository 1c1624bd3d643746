"""What one local port can serve at once: other destinations, other sources, the other family."""

from __future__ import annotations

import socket
from errno import EADDRNOTAVAIL

from model.conformance.hosts import SERVER_PORTS, V4, V6, Host, connected, only_port, port_of, refusal, within

# What an IPv6 socket calls the IPv4 server.
MAPPED = (f"::ffff:{V4.here}", SERVER_PORTS[0])


def two_destination_ports_share_a_port(host: Host) -> None:
    only_port(host)
    assert port_of(connected(host)) == port_of(connected(host, host.addresses.second_server)) == 20000


def two_destination_addresses_share_a_port(host: Host) -> None:
    only_port(host)
    for address in (host.addresses.here, *host.addresses.others):
        assert port_of(connected(host, (address, SERVER_PORTS[0]))) == 20000


def two_sources_share_a_port_towards_one_destination(host: Host) -> None:
    only_port(host)
    to = (host.addresses.others[0], SERVER_PORTS[0])
    for source in host.addresses.others:
        assert connected(host, to, source=source).getsockname()[:2] == (source, 20000)


def each_source_is_exhausted_by_itself(host: Host) -> None:
    only_port(host)
    to = (host.addresses.others[0], SERVER_PORTS[0])
    for source in host.addresses.others:
        connected(host, to, source=source)
        with refusal(EADDRNOTAVAIL):
            connected(host, to, source=source)


def a_port_free_towards_one_destination_alone_is_found(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20003))
    for _ in range(4):
        connected(host)
    other = {port_of(connected(host, host.addresses.second_server)) for _ in range(4)}
    assert other == {20000, 20001, 20002, 20003}
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)


def ranges_of_one_port_share_it_too(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    for to in (host.addresses.server, host.addresses.second_server):
        assert port_of(connected(host, to, within(20005, 20005))) == 20005


def both_families_share_a_port(host: Host) -> None:
    only_port(host)
    for addresses in (V4, V6):
        sock = host.socket(addresses.family)
        sock.connect(addresses.server)
        assert port_of(sock) == 20000


def a_mapped_address_is_the_four_tuple_of_ipv4(host: Host) -> None:
    only_port(host)
    first, second = host.socket(socket.AF_INET), host.socket(socket.AF_INET6)
    first.connect(V4.server)
    with refusal(EADDRNOTAVAIL):
        second.connect(MAPPED)


def ipv4_finds_the_port_of_a_mapped_connection_taken(host: Host) -> None:
    only_port(host)
    first, second = host.socket(socket.AF_INET6), host.socket(socket.AF_INET)
    first.connect(MAPPED)
    assert first.getsockname()[:2] == (f"::ffff:{V4.here}", 20000)
    with refusal(EADDRNOTAVAIL):
        second.connect(V4.server)


def a_mapped_connection_shares_its_port_with_an_ipv6_one(host: Host) -> None:
    only_port(host)
    for to in (MAPPED, V6.server):
        sock = host.socket(socket.AF_INET6)
        sock.connect(to)
        assert port_of(sock) == 20000


def the_port_of_a_reset_connection_is_free_at_once(host: Host) -> None:
    only_port(host)
    for _ in range(5):
        sock = connected(host)
        assert port_of(sock) == 20000
        sock.reset()


def the_port_is_free_at_once_when_the_peer_closed_first(host: Host) -> None:
    only_port(host)
    for _ in range(2):
        sock = connected(host)
        host.peer_closes(sock)
        sock.close()
    assert port_of(connected(host)) == 20000


def a_peer_that_closed_leaves_the_port_taken_until_we_do(host: Host) -> None:
    only_port(host)
    sock = connected(host)
    host.peer_closes(sock)
    with refusal(EADDRNOTAVAIL):
        connected(host)


def closing_one_of_two_that_share_frees_its_four_tuple_alone(host: Host) -> None:
    only_port(host)
    first = connected(host)
    connected(host, host.addresses.second_server)
    first.reset()
    assert port_of(connected(host)) == 20000
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)
