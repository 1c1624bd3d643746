"""The port space, and the connections made through it."""

from __future__ import annotations

from . import aio
from .connector import Connector, create_connection, default_connector
from .registry import Limits
from .sock import Socket
from .sources import Sources
from .space import Census, How, PortSpace, Reason
from .statistics import Counts, SpaceStatistics, Statistics
from .strategy import Strategy, best_strategy
from .tls import SSLSocket

__all__ = [
    "Census",
    "Connector",
    "Counts",
    "How",
    "Limits",
    "PortSpace",
    "Reason",
    "SSLSocket",
    "Socket",
    "Sources",
    "SpaceStatistics",
    "Statistics",
    "Strategy",
    "aio",
    "best_strategy",
    "create_connection",
    "default_connector",
]
