"""The connector: port spaces, and the ways to open connections through them."""

from __future__ import annotations

import socket
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from .registry import Limits, SpaceRegistry, default_registry, resolve
from .sock import Socket

if TYPE_CHECKING:
    from typing import Self

    from .sources import Source
    from .statistics import Statistics
    from .strategy import Strategy


class _DefaultTimeout:
    # Its one instance stands for "the timeout was not given".
    pass


DEFAULT_TIMEOUT: Final = _DefaultTimeout()
"""Stands for socket.getdefaulttimeout()."""

_STDLIB_DEFAULT: Final[object] = getattr(socket, "_GLOBAL_DEFAULT_TIMEOUT", DEFAULT_TIMEOUT)
# The same in the standard library; http.client and its like pass it on to whatever connects for them.


class Connector:
    """Opens TCP connections whose source ports it chooses, at a cost that does not grow as ports run out.

    ``source``: the source addresses (see ``Source``), by default those of routing; ``freebind`` allows addresses that
    no interface has. ``strategy``: "range", "bind" or "kernel", by default the best one the running kernel has.
    ``limits``: see ``Limits``. ``registry``: spaces made elsewhere, in place of all of these.

    Threads may share it. After fork() a child starts with spaces of its own. As a context manager it is closed at the
    end: no more connections are opened; those there are stay the caller's.

    Raises ValueError that names the argument.
    """

    def __init__(
        self,
        *,
        source: Source = None,
        freebind: bool = False,
        strategy: Strategy | str | None = None,
        limits: Limits | None = None,
        registry: SpaceRegistry | None = None,
    ) -> None:
        if registry is None:
            registry = SpaceRegistry(source=source, freebind=freebind, strategy=strategy, limits=limits)
        self._registry = registry
        self._closed = False

    @property
    def strategy(self) -> Strategy:
        """How ports are imposed."""
        return self._registry.strategy

    @property
    def registry(self) -> SpaceRegistry:
        """The port spaces. Raises ValueError when the connector is closed."""
        if self._closed:
            raise ValueError("this connector is closed; make another to open connections")
        return self._registry

    def statistics(self) -> Statistics:
        """The ports of every space by state, and what happened so far."""
        return self._registry.statistics()

    def socket(
        self,
        family: int = -1,
        type: int = -1,
        proto: int = -1,
        fileno: int | None = None,
        *,
        source: Source = None,
    ) -> Socket:
        """A socket of this connector, for clients that take a socket or a factory of sockets.

        Arguments as for ``socket.socket``, by default IPv4 or what ``fileno`` is.

        Raises ValueError for anything but TCP over IPv4 or IPv6, and when the connector is closed.
        """
        registry = self.registry
        return Socket(family, type, proto, fileno, registry=registry, sources=registry.sources_for(source))

    def create_connection(
        self,
        address: tuple[str | None, int | str],
        timeout: float | _DefaultTimeout | None = DEFAULT_TIMEOUT,
        source_address: tuple[str, int] | None = None,
        *,
        all_errors: bool = False,
        source: Source = None,
    ) -> Socket:
        """``socket.create_connection`` with a chosen source port.

        ``source`` overrides the connector's. ``source_address`` is bound as it stands: its port 0 is chosen here, any
        other port is the caller's own affair.

        Raises what ``socket.create_connection`` raises: the last address's OSError, or an ExceptionGroup of all with
        ``all_errors``; among them PortsExhausted and NoSuchLocalAddress. ValueError names a bad argument.
        """
        if source is not None and source_address is not None:
            raise ValueError("source, source_address: give one of them; they say the same")
        host, port = _checked(address)
        registry = self.registry
        sources = registry.sources if source is None else registry.sources_for(source)
        errors: list[OSError] = []
        for family, found in resolve(host, port):
            sock = None
            try:
                sock = Socket(family, socket.SOCK_STREAM, registry=registry, sources=sources)
                if not (isinstance(timeout, _DefaultTimeout) or timeout is _STDLIB_DEFAULT):
                    sock.settimeout(timeout)
                if source_address is not None:
                    sock.bind(source_address)
                sock.connect(found)
            except OSError as error:
                if sock is not None:
                    sock.close()
                errors.append(error)
            except BaseException:
                if sock is not None:
                    sock.close()
                raise
            else:
                return sock
        try:
            if all_errors:
                raise ExceptionGroup("create_connection failed", errors)
            raise errors[-1]
        finally:
            # The errors hold this frame, through their tracebacks.
            errors.clear()

    def close(self) -> None:
        """Open no more connections."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


@cache
def default_connector() -> Connector:
    """The connector of the module-level functions."""
    return Connector(registry=default_registry())


def create_connection(
    address: tuple[str | None, int | str],
    timeout: float | _DefaultTimeout | None = DEFAULT_TIMEOUT,
    source_address: tuple[str, int] | None = None,
    *,
    all_errors: bool = False,
    source: Source = None,
) -> Socket:
    """``Connector.create_connection`` of the default connector: a drop-in for ``socket.create_connection``."""
    return default_connector().create_connection(address, timeout, source_address, all_errors=all_errors, source=source)


def _checked(address: Any) -> tuple[Any, Any]:
    try:
        host, port = address
    except (TypeError, ValueError):
        raise ValueError(f"address must be a (host, port) pair, not {address!r}") from None
    if isinstance(port, int) and not 0 <= port <= 65535:
        raise ValueError(f"address: the port must be 0 to 65535, not {port}")
    return host, port
