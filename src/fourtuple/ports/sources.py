"""Source addresses: one or several, as a list, a network, or what an interface has.

Each further source address is a further port space towards every destination: two addresses, twice the connections.
"""

from __future__ import annotations

import errno
import ipaddress
import random
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from fourtuple.linux.addresses import interface_addresses, is_local, local_addresses

from .endpoints import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Source: TypeAlias = "str | Sequence[str] | Sources | None"
"""What ``source=`` takes: None (routing decides), an address, a network in CIDR form, ``dev:NAME`` for the addresses
of an interface, a sequence of these, or ``Sources``.

A network stands for this machine's addresses in it; with ``freebind`` for any of its addresses."""

AT_MOST = 256
"""Addresses taken from one network: 256 sources are 7 million connections to one destination."""

_DEVICE = "dev:"

_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The addresses to connect from, by family, in canonical form; both empty when routing decides.

    ``freebind`` allows addresses that no interface has (IP_FREEBIND), as with a routed IPv6 prefix; answers come back
    only when the machine has a local route for them (``ip route add local 2001:db8::/64 dev lo``).
    """

    ipv4: tuple[str, ...] = ()
    ipv6: tuple[str, ...] = ()
    freebind: bool = False

    def towards(self, destination: str) -> tuple[str, ...]:
        """The addresses of the destination's family (its canonical address decides)."""
        return self.ipv6 if ":" in destination else self.ipv4

    @property
    def any(self) -> bool:
        """Whether no address is given, so that routing decides."""
        return not self.ipv4 and not self.ipv6


def parse_sources(source: Source, *, freebind: bool = False, local: Callable[[str], bool] = is_local) -> Sources:
    """The ``Sources`` that ``source`` names; see ``Source``. ``local`` tells whether an address is this machine's.

    Raises ValueError for what is neither an address, a network nor an interface, or has no address to connect from.
    """
    if source is None:
        return Sources(freebind=freebind)
    if isinstance(source, Sources):
        return replace(source, freebind=True) if freebind and not source.freebind else source
    items = [source] if isinstance(source, str) else list(source)
    if not items:
        raise ValueError("source: the list is empty; leave it out to let routing decide")

    def of_network(network: _Network) -> list[str]:
        return _drawn(network) if freebind else _own(network, local)

    addresses = dict.fromkeys(canonical(address) for item in items for address in _expand(item, of_network))
    return Sources(
        ipv4=tuple(address for address in addresses if ":" not in address),
        ipv6=tuple(address for address in addresses if ":" in address),
        freebind=freebind,
    )


def _expand(item: str, of_network: Callable[[_Network], list[str]]) -> list[str]:
    if not isinstance(item, str):  # pyright: ignore[reportUnnecessaryIsInstance]: callers are not all typed
        raise ValueError(f"source: {item!r} is no text; an address, a network or dev:NAME is")
    if item.startswith(_DEVICE):
        return _of_interface(item.removeprefix(_DEVICE))
    try:
        if "/" not in item:
            return [canonical(item)]
        network = ipaddress.ip_network(item, strict=False)
    except ValueError:
        raise ValueError(
            f"source: {item!r} is no address, no network (192.0.2.0/28) and no interface (dev:eth0)"
        ) from None
    if network.is_multicast or network.is_unspecified:
        raise ValueError(f"source: nothing can connect from {network}, which has no unicast address")
    return of_network(network)


def _of_interface(name: str) -> list[str]:
    try:
        addresses = [*interface_addresses(name, socket.AF_INET), *interface_addresses(name, socket.AF_INET6)]
    except OSError as error:
        if error.errno != errno.ENODEV:
            raise
        raise ValueError(f"source: {error.strerror}") from error
    # Link-local sources reach only their own link and need a zone: not what a list of sources is for.
    usable = [address for address in addresses if not ipaddress.ip_address(address).is_link_local]
    if not usable:
        raise ValueError(f"source: interface {name!r} has no address to connect from")
    return usable


def _own(network: _Network, local: Callable[[str], bool]) -> list[str]:
    # What interfaces have in the network, then what else is local: one route makes all of 127.0.0.0/8 so.
    family = socket.AF_INET if network.version == 4 else socket.AF_INET6
    # Those with a zone reach only their own link, and a network names no zone.
    here = (address for address in local_addresses(family) if "%" not in address)
    own = [address for address in here if ipaddress.ip_address(address) in network]
    found = dict.fromkeys([*own, *filter(local, _drawn(network))])
    if not found:
        raise ValueError(
            f"source: no address of this machine lies in {network}; freebind would allow those that no interface has"
        )
    return list(found)[:AT_MOST]


def _drawn(network: _Network) -> list[str]:
    # All of a small network, else as many as allowed at random.
    count = network.num_addresses
    reserved = network.version == 4 and count > 2
    # The network and broadcast addresses of an IPv4 network are no source addresses.
    offsets = range(1, count - 1) if reserved else range(count)
    span = offsets.stop - offsets.start
    chosen: Iterable[int] = offsets
    if span > AT_MOST:
        # randrange, since sample() and range refuse more than 2**63 places.
        drawn: set[int] = set()
        while len(drawn) < AT_MOST:
            drawn.add(offsets.start + random.randrange(span))
        chosen = drawn
    addresses = (network[offset] for offset in chosen)
    return [str(address) for address in addresses if not (address.is_multicast or address.is_unspecified)]
