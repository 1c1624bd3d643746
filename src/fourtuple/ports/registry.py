"""Which port spaces a connection may draw from: strategy, sources, limits, and the spaces made so far."""

from __future__ import annotations

import errno
import socket
import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from fourtuple.errors import NoSuchLocalAddress
from fourtuple.linux.addresses import source_for

from . import endpoints
from .forking import renew_in_children
from .imposing import IMPOSERS
from .settings import SettingsCache
from .shared import SharedSpace
from .sources import Source, Sources, parse_sources
from .statistics import Counts, Statistics
from .strategy import Strategy, best_strategy, parse_strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from .endpoints import SocketAddress


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a connector.

    ``tries``: ports proposed to the kernel for one connection before it chooses itself. A refused try costs a few
    microseconds, so 64 cost less than the kernel's own search through some thousand ports, and each teaches one port.
    ``spaces``: port spaces kept; beyond that, idle ones are dropped, the oldest first.
    ``ports``: source ports leased at most in one space, to leave the rest of the range to other programs; None for all.
    """

    tries: int = 64
    spaces: int = 4096
    ports: int | None = None

    def __post_init__(self) -> None:
        bounds = {"tries": self.tries, "spaces": self.spaces}
        if self.ports is not None:
            bounds["ports"] = self.ports
        for name, value in bounds.items():
            if not isinstance(value, int):  # pyright: ignore[reportUnnecessaryIsInstance]: callers are not all typed
                raise ValueError(f"Limits.{name} must be a whole number, not {value}")
            if value < 1:
                raise ValueError(f"Limits.{name} must be 1 or more, not {value}")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a connection goes, and the spaces it may draw from: one, or one for each source address.

    ``sources`` has the address to bind for each space, "" where routing decides.
    """

    family: int
    address: SocketAddress
    sources: tuple[str, ...]
    spaces: tuple[SharedSpace, ...]

    def by_emptiness(self) -> list[tuple[str, SharedSpace]]:
        """(source, space) pairs, the one with the fewest leased ports first."""
        return sorted(zip(self.sources, self.spaces, strict=True), key=lambda pair: pair[1].leased)


class SpaceRegistry:
    """The spaces of a connector. ``strategy`` None stands for the best one the kernel has.

    Raises ValueError for a strategy or source that is none.
    """

    def __init__(
        self,
        *,
        source: Source = None,
        freebind: bool = False,
        strategy: Strategy | str | None = None,
        limits: Limits | None = None,
        clock: Callable[[], float] = time.monotonic,
        settings: SettingsCache | None = None,
    ) -> None:
        self.strategy = best_strategy() if strategy is None else parse_strategy(strategy)
        self.limits = limits or Limits()
        self.imposer = IMPOSERS[self.strategy]
        self.tries = 0 if self.strategy is Strategy.KERNEL else self.limits.tries
        self.sources = parse_sources(source, freebind=freebind)
        self._clock = clock
        self._settings = settings or SettingsCache()
        self._lock = threading.RLock()
        self._spaces: dict[tuple[str, str, int], SharedSpace] = {}
        self._destinations: dict[tuple[int, SocketAddress, Sources], Destination] = {}
        self._named_sources: dict[str | tuple[str, ...], Sources] = {}
        self._elsewhere = Counts()
        self._room = self.limits.spaces
        renew_in_children(self)

    def sources_for(self, source: Source) -> Sources:
        """The ``Sources`` that ``source`` names, the same object each time; None stands for the registry's own."""
        if source is None:
            return self.sources
        if isinstance(source, Sources):
            return source
        if not isinstance(source, (str, list, tuple)):
            raise ValueError(f"source must be an address, a network, dev:NAME, or a list of these, not {source!r}")
        key = source if isinstance(source, str) else tuple(source)
        found = self._named_sources.get(key)
        if found is None:
            if len(self._named_sources) >= self.limits.spaces:
                self._named_sources.clear()
            found = self._named_sources.setdefault(key, parse_sources(key, freebind=self.sources.freebind))
        return found

    def destination(self, family: int, address: Any, sources: Sources) -> Destination:
        """Where ``address``, as connect() of a socket of that family takes it, is reached from ``sources``.

        Names are resolved each time. Raises NoSuchLocalAddress when all sources are of the other family, OSError when
        routing has no source address (EADDRNOTAVAIL, ENETUNREACH, ...), socket.gaierror, and TypeError, ValueError or
        IndexError for what is no address.
        """
        found = self._destinations.get((family, address, sources))
        if found is not None:
            return found
        host, port = address[0], address[1]
        if host == "":
            raise ValueError("address: the host is empty")
        if not endpoints.is_literal(family, host):
            return self.destination(family, resolve(host, port, family)[0][1], sources)
        if not 0 <= port <= 65535:
            raise ValueError(f"address: port {port} is not 0 to 65535")
        return self._make(family, address, sources)

    def forget(self, destination: Destination) -> None:
        """Ask routing again next time: its last answer led nowhere."""
        with self._lock:
            self._destinations = {
                key: kept for key, kept in list(self._destinations.items()) if kept is not destination
            }

    def statistics(self) -> Statistics:
        """A snapshot of all spaces."""
        with self._lock:
            spaces = tuple(space.statistics() for space in list(self._spaces.values()))
            counts = sum((space.counts for space in spaces), replace(self._elsewhere))
        return Statistics(self.strategy.value, counts, spaces)

    def note_kernel_choice(self) -> None:
        """Count a connection outside every space, whose port the kernel chose."""
        with self._lock:
            self._elsewhere.kernel_choices += 1

    def start_anew(self) -> None:
        """Forget every space, in a forked child: the ports are its parent's, and any lock may be held for ever."""
        self._lock = threading.RLock()
        self._spaces = {}
        self._destinations = {}
        self._elsewhere = Counts()

    def _make(self, family: int, address: SocketAddress, sources: Sources) -> Destination:
        host = endpoints.canonical(address[0])
        bound = sources.towards(host)
        if not (bound or sources.any):
            raise NoSuchLocalAddress(", ".join(sources.ipv4 + sources.ipv6), endpoints.text(host, address[1]))
        origins = bound or (routed_source(family, address),)
        with self._lock:
            self._make_room(len(origins))
            spaces = tuple(self._space(origin, host, address[1]) for origin in origins)
            destination = Destination(family, address, bound or ("",), spaces)
            if len(self._destinations) >= max(self.limits.spaces, 2 * len(self._spaces)):
                # Several spellings of an address, or sources made anew each time, lead to one space.
                self._destinations.clear()
            self._destinations[family, address, sources] = destination
        return destination

    def _space(self, source: str, host: str, port: int) -> SharedSpace:
        key = (source, host, port)
        space = self._spaces.get(key)
        if space is None:
            space = self._spaces[key] = SharedSpace(
                source,
                host,
                port,
                settings=self._settings,
                explicit_bind=self.strategy is Strategy.BIND,
                most=self.limits.ports,
                clock=self._clock,
            )
        return space

    def _make_room(self, wanted: int) -> None:
        if len(self._spaces) + wanted <= self._room:
            return
        # A quarter at once, so that the look through all of them is rare.
        quarter = max(1, self.limits.spaces // 4)
        most = max(0, self.limits.spaces - quarter - wanted)
        # First those that would forget nothing; then those without a connection, whose ports the kernel guards anyway.
        unused = [item for item in self._spaces.items() if not item[1].leased]
        unused.sort(key=lambda item: not item[1].idle)
        for key, space in unused[: max(0, len(self._spaces) - most)]:
            del self._spaces[key]
            self._elsewhere += space.counts
        # Where most are in use, the next look waits until as many more have come.
        self._room = max(self.limits.spaces, len(self._spaces) + wanted + quarter)
        self._destinations.clear()


def routed_source(family: int, address: SocketAddress) -> str:
    """The source address, canonical, that routing picks; "" when there is nothing to ask it with.

    Asking takes a descriptor and a UDP port, which a process may be out of while it can connect all the same.
    Raises OSError when there is no such address (EADDRNOTAVAIL, ENETUNREACH, ...).
    """
    try:
        return endpoints.canonical(source_for(family, address))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EMFILE, errno.ENFILE):
            return ""
        raise


# The one default registry, once it is made: setdefault() keeps the first of two that threads make at once.
_default: dict[str, SpaceRegistry] = {}


def default_registry() -> SpaceRegistry:
    """The registry of the module-level functions and of ``Socket`` without one of its own."""
    return _default.get("default") or _default.setdefault("default", SpaceRegistry())


def resolve(host: str | None, port: int | str, family: int = socket.AF_UNSPEC) -> list[tuple[int, SocketAddress]]:
    """(family, address) pairs to try in order; a literal needs no resolver. Raises socket.gaierror."""
    if isinstance(host, str) and isinstance(port, int) and family == socket.AF_UNSPEC:
        literal = endpoints.literal_address(host, port)
        if literal is not None:
            return [literal]
    found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    return [(family, cast("SocketAddress", address)) for family, _, _, _, address in found]
