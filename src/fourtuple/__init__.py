"""connect() under pressure: source ports chosen in constant time, however few are left."""

from __future__ import annotations

# Not typing's, which takes longer to import than all that is imported here.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .errors import FourtupleError, NamespacesRefused, NoSuchLocalAddress, PortsExhausted, Shortage, Unsupported
    from .ports import Connector, Limits, Socket, Sources, SSLSocket, Strategy, aio, create_connection

__all__ = [
    "Connector",
    "FourtupleError",
    "Limits",
    "NamespacesRefused",
    "NoSuchLocalAddress",
    "PortsExhausted",
    "SSLSocket",
    "Shortage",
    "Socket",
    "Sources",
    "Strategy",
    "Unsupported",
    "aio",
    "create_connection",
]

if not TYPE_CHECKING:
    # Imported when first asked for (PEP 562): the command has to be ready for Ctrl-C long before it needs any of them.
    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name in ("errors", "ports"):
            return import_module(f".{name}", __name__)
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from . import errors, ports

        return globals().setdefault(name, getattr(ports if hasattr(ports, name) else errors, name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
