"""Where the kernel draws lots, the distribution: each test below raises a false alarm once in ten million runs or less.

Chi-square of equally likely outcomes, with at least twenty expected of each, against the quantile 1 - 1e-7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from model.conformance.hosts import (
    NO_PORT,
    REUSE,
    Address,
    Host,
    Option,
    Sock,
    bound,
    connected,
    many_servers,
    opened,
    port_of,
    within,
)

# Of the chi-square distribution by degrees of freedom: what it exceeds with probability 1e-7.
_QUANTILE = {3: 35.08, 7: 45.70, 9: 50.17}


# Every ten seconds the kernel starts elsewhere. No case takes half a minute.
_NEW_SECRETS = 3


def _equally_likely(draws: Iterable[int], outcomes: Iterable[int]) -> None:
    drawn = Counter(draws)
    possible = list(outcomes)
    expected = drawn.total() / len(possible)
    assert drawn.keys() <= set(possible)
    assert expected >= 20
    distance = sum((drawn[outcome] - expected) ** 2 / expected for outcome in possible)
    assert distance < _QUANTILE[len(possible) - 1], drawn


def _first_port(host: Host, to: Address, *options: Option) -> int:
    sock = bound(host, 0, NO_PORT, *options, on=host.addresses.others[0])
    sock.connect(to)
    return _port_given_back(sock)


def _port_given_back(sock: Sock) -> int:
    port = port_of(sock)
    sock.reset()
    return port


def _moves_on(host: Host, size: int, strides: range, *options: Option) -> None:
    host.configure(ip_local_port_range=(20000, 20999))
    ports = [_port_given_back(connected(host, None, *options)) for _ in range(400)]
    moves = [(after - before) % size for before, after in pairwise(ports)]
    foreseen = [move for move in moves if move in strides]
    assert len(moves) - len(foreseen) <= _NEW_SECRETS
    _equally_likely(foreseen, strides)


def destinations_start_anywhere_in_the_first_parity(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20019))
    ports = [_first_port(host, to) for to in many_servers(host, 300)]
    _equally_likely(ports, range(20000, 20020, 2))


def a_range_of_its_own_starts_anywhere(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20099))
    ports = [_first_port(host, to, within(20031, 20040)) for to in many_servers(host, 300)]
    _equally_likely(ports, range(20031, 20041))


def an_odd_size_starts_at_none_but_the_first_parity(host: Host) -> None:
    # The size is rounded down to 20: the 21st port is nobody's first.
    host.configure(ip_local_port_range=(20000, 20020))
    ports = [_first_port(host, to) for to in many_servers(host, 300)]
    _equally_likely(ports, range(20000, 20020, 2))


def an_ignored_range_of_its_own_does_away_with_parity_too(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20009))
    ports = [_first_port(host, to, within(30000, 30009)) for to in many_servers(host, 300)]
    _equally_likely(ports, range(20000, 20010))


def the_next_search_starts_a_few_ports_further(host: Host) -> None:
    # A search that found its first candidate free moves the start by twice a number drawn from 1 to 8.
    _moves_on(host, 1000, range(2, 17, 2))


def a_range_of_its_own_moves_half_as_far(host: Host) -> None:
    _moves_on(host, 999, range(1, 9), within(20000, 20998))


def a_long_search_moves_the_start_just_behind_what_it_found(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20099))
    socks = {port_of(sock): sock for sock in [connected(host) for _ in range(50)]}
    for port in (20050, 20052):
        socks[port].reset()
    found = [_port_given_back(connected(host)) for _ in range(100)]
    # Behind 20050 comes 20052, found without a search; lots then move the start on, and 20050 takes a long one.
    assert {*found} == {20050, 20052}
    assert sum(after == before for before, after in pairwise(found)) <= _NEW_SECRETS


def port_0_is_drawn_from_the_other_parity(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20019))
    ports = [_port_given_back(bound(host, 0)) for _ in range(300)]
    _equally_likely(ports, range(20001, 20020, 2))


def port_0_with_reuseaddr_is_drawn_from_the_lower_half(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20015))
    ports = [_port_given_back(bound(host, 0, REUSE)) for _ in range(300)]
    _equally_likely(ports, range(20001, 20008, 2))


def listening_without_bind_draws_like_port_given_back(host: Host) -> None:
    host.configure(ip_local_port_range=(20000, 20019))
    ports: list[int] = []
    for _ in range(300):
        sock = opened(host)
        sock.listen()
        ports.append(_port_given_back(sock))
    _equally_likely(ports, range(20001, 20020, 2))
