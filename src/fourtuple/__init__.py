"""connect() under pressure: source ports chosen in constant time, however few are left."""

from __future__ import annotations

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
