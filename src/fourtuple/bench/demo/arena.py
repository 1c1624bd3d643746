"""Where the kernel's choice of ports and fourtuple's are compared: a place for each, both alike."""

from __future__ import annotations

import errno
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from fourtuple.bench.demo.levels import LEVELS, SMALLEST_RANGE, Ladder, ladder, largest_size
from fourtuple.errors import NamespacesRefused, Unsupported
from fourtuple.linux.limits import raise_file_limit
from fourtuple.linux.netns import rehearse_namespaces
from fourtuple.linux.sysctl import PortRange, count_usable_ports, local_port_range
from fourtuple.load.places import Loopback, Place, PrivateNetwork

# Descriptors of a worker that are not connections: the standard three, its channel, a pipe for each
# of two sinks, two namespaces, the socket that is being made, and room for what a connector opens
# in passing.
SPARE_FILES = 20

# The first port of a private range. The sinks listen just below.
_FIRST_PORT = 10000


class Family(Enum):
    """A family of addresses, by the name that people read."""

    IPV4 = "IPv4"
    IPV6 = "IPv6"


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is measured.

    ``levels`` are per cent of the range; ``ports`` is the size of a private range, less where the
    limit of open files is in the way; each level has ``operations`` of either way, timed in turns
    of ``block``.
    """

    levels: tuple[float, ...] = LEVELS
    ports: int = 20_000
    operations: int = 1_000
    block: int = 100


@dataclass(frozen=True, slots=True)
class Arena:
    """The places in which the kernel and fourtuple choose, and the levels within reach of both.

    ``private`` tells whether each has a network namespace of its own; otherwise they share this
    machine's, with a destination each.
    """

    family: Family
    private: bool
    ports: PortRange
    ladder: Ladder
    kernel: Place
    fourtuple: Place


def private_arena(family: Family, settings: Settings) -> Arena:
    """Return an arena of network namespaces, with a range small enough for the limit of open files.

    Raises the soft limit of open files to the hard one, which child processes inherit. Raises
    ``Unsupported`` (``EMFILE``) if that leaves no range worth measuring.
    """
    most = _most_connections()
    size = largest_size(settings.levels, settings.ports, most)
    if size < settings.ports:
        # Even: in a range of odd size the kernel's search can miss a port.
        size -= size % 2
    ports = PortRange(_FIRST_PORT, _FIRST_PORT + size - 1)
    host = "127.0.0.1" if family is Family.IPV4 else "::1"
    steps = ladder(settings.levels, size, most)
    place = PrivateNetwork(ports, Loopback(host, steps.reached[-1].held))
    return Arena(family, True, ports, steps, place, place)


def host_arena(family: Family, settings: Settings) -> Arena:
    """Return an arena on this machine's own loopback, with its range and the levels it allows.

    Raises the soft limit of open files to the hard one, which child processes inherit. Raises
    ``Unsupported`` if open files (``EMFILE``) or ports (``EADDRNOTAVAIL``) leave nothing worth measuring.
    """
    most = _most_connections()
    ports = local_port_range()
    usable = count_usable_ports()
    if usable < SMALLEST_RANGE:
        raise Unsupported(
            errno.EADDRNOTAVAIL,
            f"a measurement with {usable} ports ({ports.low}-{ports.high} less the reserved ones)",
            f"widen net.ipv4.ip_local_port_range, or reserve fewer, to leave {SMALLEST_RANGE} at least",
        )
    steps = ladder(settings.levels, usable, most)
    held = steps.reached[-1].held
    kernel, fourtuple = (Loopback(host, held) for host in _two_hosts(family))
    return Arena(family, False, ports, steps, kernel, fourtuple)


def possible_arena() -> tuple[Callable[[Family, Settings], Arena], NamespacesRefused | None]:
    """Return `private_arena`, or `host_arena` and the refusal where namespaces are refused."""
    try:
        rehearse_namespaces()
    except NamespacesRefused as refusal:
        return host_arena, refusal
    return private_arena, None


def _most_connections() -> int:
    limit = raise_file_limit()
    if limit < SMALLEST_RANGE + SPARE_FILES:
        raise Unsupported(
            errno.EMFILE,
            f"a measurement with {limit} open files",
            f"raise the limit (ulimit -n) to {SMALLEST_RANGE + SPARE_FILES} at least",
        )
    return limit - SPARE_FILES


def _two_hosts(family: Family) -> Sequence[str]:
    if family is Family.IPV6:
        # IPv6 has one loopback address; the sinks differ in their port.
        return "::1", "::1"
    # 127.0.0.0/8 is all loopback. Not 127.0.0.x, where local servers live.
    suffixes = random.sample(range(1 << 16, (1 << 24) - 1), 2)
    return [f"127.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in suffixes]
