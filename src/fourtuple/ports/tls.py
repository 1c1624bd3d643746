"""TLS over blocking sockets: the port stays accounted for when ``ssl`` takes a socket over.

``SSLContext.wrap_socket`` moves the descriptor into a socket of its own class and leaves ours empty. ``ssl`` lets that
class be replaced, and with this one the lease moves along:

    context = ssl.create_default_context()
    context.sslsocket_class = fourtuple.SSLSocket

asyncio needs none of this: its TLS leaves the socket as it is.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from .claim import Claim
from .holding import PortHolder
from .registry import default_registry

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Self

# The class method that typeshed does not know.
_create: Callable[..., Any] = getattr(ssl.SSLSocket, "_create").__func__  # noqa: B009

# Claims on their way, by descriptor, for the length of one _create().
_moving: dict[int, Claim] = {}


class SSLSocket(ssl.SSLSocket, PortHolder):  # pyright: ignore[reportIncompatibleMethodOverride]: typeshed's Never
    """An ``ssl.SSLSocket`` that goes on with the port, or the choice of one, of the ``Socket`` it was made from."""

    # wrap_socket() calls _create() (since Python 3.7), that __new__, and then detach() of the socket it is given.

    def __new__(cls, *_arguments: Any, fileno: int = -1, **_options: Any) -> Self:  # noqa: D102
        self = super().__new__(cls)
        claim = _moving.pop(fileno, None)
        self._claim = _nothing_claimed() if claim is None else claim
        return self

    @classmethod
    def _create(cls, sock: socket.socket, *arguments: Any, **options: Any) -> Self:
        if not isinstance(sock, PortHolder):
            return _create(cls, sock, *arguments, **options)
        fd = sock.fileno()
        _moving[fd] = claim = sock.exchange_claim(_nothing_claimed())
        try:
            return _create(cls, sock, *arguments, **options)
        finally:
            if _moving.pop(fd, None) is not None:
                # ssl refused before it took the descriptor.
                sock.exchange_claim(claim)


def _nothing_claimed() -> Claim:
    registry = default_registry()
    return Claim(registry, registry.sources)
