"""The addresses of the machine, those it meets, and which of its own it connects from."""

from __future__ import annotations

import errno
import ipaddress
import os
from array import array
from typing import Final, TypeAlias

from .tables import Tables

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_ANY_FOUR: Final = ipaddress.IPv4Address("0.0.0.0")
_ANY_SIX: Final = ipaddress.IPv6Address("::")
_LOOPBACK: Final[dict[int, Address]] = {
    4: ipaddress.IPv4Address("127.0.0.1"),
    6: ipaddress.IPv6Address("::1"),
}


def parsed(host: str) -> Address:
    """The address that ``host`` spells; an IPv4-mapped one is the IPv4 address. Raises ValueError for no address."""
    address = ipaddress.ip_address(host or "0.0.0.0")
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


class Addresses:
    """Numbers for addresses, as the tables know them; 0 is 0.0.0.0 and 1 is ``::``."""

    ANY_FOUR: Final = 0
    ANY_SIX: Final = 1

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._numbers: dict[Address, int] = {}
        self._known: list[Address] = []
        self._own: list[Address] = []
        self._words = array("I")
        self.number(_ANY_FOUR)
        self.number(_ANY_SIX)

    def add(self, host: str) -> None:
        """Give the machine an address. Raises ValueError for what is none."""
        self._own.append(parsed(host))

    def number(self, address: Address) -> int:
        """The number of an address, a new one at its first use."""
        number = self._numbers.get(address)
        if number is None:
            words = array("I", address.packed)
            if address.version == 4:
                words = array("I", [0, 0, 0, words[0]])
            number = self._numbers[address] = len(self._known)
            self._known.append(address)
            self._words += array("I", [*words, address.version])
            self._tables.words = array("I", self._words)
        return number

    def of(self, number: int) -> Address:
        """The address with that number."""
        return self._known[number]

    def is_own(self, address: Address) -> bool:
        """Whether a socket may be bound to it."""
        return address.is_loopback or address.is_unspecified or address in self._own

    def source(self, destination: Address) -> Address:
        """The address to connect from.

        An own address is reached from itself, all of 127.0.0.0/8 from 127.0.0.1, anything else from the first address
        of its family that was added. Raises OSError (``ENETUNREACH``) when there is none.
        """
        if destination.is_loopback:
            return _LOOPBACK[destination.version]
        if destination in self._own:
            return destination
        for address in self._own:
            if address.version == destination.version:
                return address
        raise OSError(
            errno.ENETUNREACH,
            f"{os.strerror(errno.ENETUNREACH)}: add an IPv{destination.version} address to the kernel",
        )


def reached(destination: Address) -> Address:
    """Where a connection to ``destination`` ends: the unspecified address stands for loopback."""
    return _LOOPBACK[destination.version] if destination.is_unspecified else destination
