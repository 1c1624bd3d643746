"""What explicit binds, listeners and port 0 do to connections that want the same port."""

from __future__ import annotations

from errno import EADDRINUSE, EADDRNOTAVAIL

from model.conformance.hosts import (
    NO_PORT,
    REUSE,
    REUSE_PORT,
    Host,
    Option,
    bound,
    connected,
    only_port,
    opened,
    port_of,
    refusal,
    within,
)


def _unusable(host: Host, *options: Option) -> None:
    """connect() does not use the one port of the range, wherever to."""
    for to in (host.addresses.server, host.addresses.second_server):
        with refusal(EADDRNOTAVAIL):
            connected(host, to, *options)


def _usable(host: Host) -> None:
    for to in (host.addresses.server, host.addresses.second_server):
        assert port_of(connected(host, to)) == 20000


def an_explicit_bind_keeps_connections_off(host: Host) -> None:
    only_port(host)
    bound(host, 20000)
    _unusable(host)


def an_explicit_bind_with_reuseaddr_keeps_them_off_too(host: Host) -> None:
    only_port(host)
    bound(host, 20000, REUSE)
    _unusable(host)
    _unusable(host, REUSE)


def an_explicit_bind_on_another_address_keeps_them_off(host: Host) -> None:
    only_port(host)
    bound(host, 20000, on=host.addresses.others[0])
    _unusable(host)


def an_explicit_bind_with_reuseport_keeps_them_off(host: Host) -> None:
    only_port(host)
    bound(host, 20000, REUSE_PORT)
    _unusable(host, REUSE_PORT)


def a_range_of_one_port_is_kept_off_as_well(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    bound(host, 20005, REUSE)
    with refusal(EADDRNOTAVAIL):
        connected(host, None, within(20005, 20005))
    assert port_of(connected(host)) != 20005


def a_listener_keeps_connections_off(host: Host) -> None:
    only_port(host)
    bound(host, 20000).listen()
    _unusable(host)


def port_0_keeps_connections_off(host: Host) -> None:
    only_port(host)
    bound(host, 0)
    _unusable(host)


def an_address_without_a_port_keeps_nobody_off(host: Host) -> None:
    only_port(host)
    bound(host, 0, NO_PORT, on=host.addresses.here)
    _usable(host)


def a_socket_connected_from_its_explicit_port_keeps_them_off(host: Host) -> None:
    only_port(host)
    bound(host, 20000, REUSE).connect(host.addresses.server)
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)


def a_bind_that_joins_a_connection_keeps_later_ones_off(host: Host) -> None:
    only_port(host)
    connected(host, None, REUSE)
    bound(host, 20000, REUSE)
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)


def the_port_is_usable_once_the_explicit_owner_is_gone(host: Host) -> None:
    only_port(host)
    bound(host, 20000).close()
    _usable(host)


def the_port_is_usable_once_the_listener_is_gone(host: Host) -> None:
    only_port(host)
    sock = bound(host, 20000, REUSE)
    sock.listen()
    sock.close()
    _usable(host)


def a_connection_that_outlives_the_explicit_owner_shares_again(host: Host) -> None:
    only_port(host)
    connected(host, None, REUSE)
    owner = bound(host, 20000, REUSE)
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)
    owner.close()
    assert port_of(connected(host, host.addresses.second_server)) == 20000


def a_connection_that_outlives_an_owner_on_another_address_shares_again(host: Host) -> None:
    only_port(host)
    connected(host)
    owner = bound(host, 20000, on=host.addresses.others[0])
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)
    owner.close()
    assert port_of(connected(host, host.addresses.second_server)) == 20000


def one_of_two_explicit_owners_keeps_them_off_still(host: Host) -> None:
    only_port(host)
    first = bound(host, 20000, REUSE)
    bound(host, 20000, REUSE)
    first.close()
    _unusable(host)


def a_refused_bind_leaves_the_port_as_it_was(host: Host) -> None:
    only_port(host)
    connected(host)
    refused = opened(host)
    with refusal(EADDRINUSE):
        refused.bind((host.addresses.any, 20000))
    assert port_of(connected(host, host.addresses.second_server)) == 20000


def time_wait_of_an_explicit_owner_keeps_them_off(host: Host) -> None:
    only_port(host)
    sock = bound(host, 20000, REUSE)
    sock.connect(host.addresses.server)
    sock.close()
    host.peer_closes(sock)
    with refusal(EADDRNOTAVAIL):
        connected(host, host.addresses.second_server)


def the_reset_of_an_explicit_owner_frees_the_port(host: Host) -> None:
    only_port(host)
    sock = bound(host, 20000, REUSE)
    sock.connect(host.addresses.server)
    sock.reset()
    _usable(host)
