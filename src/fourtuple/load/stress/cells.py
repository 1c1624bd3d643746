"""The counters of a worker: what is in which cell.

First come figures, then a table of failures for each kind of system call, by errno.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, TypeAlias

Cells: TypeAlias = "memoryview[int]"
"""The cells of one worker: 64-bit integers."""

FIGURES: Final = 16
"""Cells for figures."""
ERRNOS: Final = 256
"""Cells of a table of failures; Linux's numbers end below."""
OPERATIONS: Final = 4
"""Tables of failures."""
CELLS: Final = FIGURES + OPERATIONS * ERRNOS
"""Cells of one worker."""


class ServerCell(IntEnum):
    """Figures of sockmany's server."""

    ACCEPTED = 0
    """Bogo operations: returns of accept(), with a connection or with an error."""


class ClientCell(IntEnum):
    """Figures of sockmany's client."""

    ROUNDS = 0
    """Times that everything was closed."""
    CONNECTIONS = 1
    """Connections that brought data."""
    HELD = 2
    """Connections held now."""
    MOST_HELD = 3
    """The most connections held at once."""
    KERNEL_CHOICES = 4
    """Connections whose port the kernel chose although there is a port space."""
    REFUSED_PORTS = 5
    """Ports proposed that the kernel did not take."""


class DumperCell(IntEnum):
    """Figures of sockdiag."""

    ATTRIBUTES = 0
    """Bogo operations: attributes of the sockets returned."""
    DUMPS = 1
    """Dumps that came to their end."""
    SOCKETS = 2
    """Sockets in them."""
    LEAST = 3
    """The fewest sockets in one dump."""
    GREATEST = 4
    """The most sockets in one dump."""


def failures(rows: Sequence[Cells], operations: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """What failed, summed over the cells of like workers: the counts by system call and name of the error.

    ``operations`` are the system calls in the order of their tables, each with its name for number 0.
    """
    found: dict[str, dict[str, int]] = {}
    for place, (operation, zero) in enumerate(operations.items()):
        start = FIGURES + place * ERRNOS
        sums = map(sum, zip(*(row[start : start + ERRNOS] for row in rows), strict=True))
        kinds = {_name(code) or zero: count for code, count in enumerate(sums) if count}
        if kinds:
            found[operation] = kinds
    return found


def _name(code: int) -> str:
    return errno.errorcode.get(code, f"errno {code}") if code else ""
