"""What a connector did, counted where it happens: in each port space."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .space import Census


@dataclass(slots=True)
class Counts:
    """Events since the space was made."""

    leases: int = 0
    """Ports given out to be tried."""
    refused: int = 0
    """Of these, refused by the kernel: another owner. Each cost one retry."""
    outside: int = 0
    """Of these, not in the kernel's range any more, or reserved: the range changed."""
    kernel_choices: int = 0
    """Connections for which the kernel chose the port, because no proposal was left (or by strategy)."""
    exhausted: int = 0
    """PortsExhausted raised."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Counts)))


@dataclass(frozen=True, slots=True)
class SpaceStatistics:
    """One port space: its two ends, the local port range, the ports by state, and the events."""

    source: str
    destination: str
    low: int
    high: int
    ports: Census
    counts: Counts


@dataclass(frozen=True, slots=True)
class Statistics:
    """A snapshot: ``counts`` covers all spaces, those dropped since included."""

    strategy: str
    counts: Counts
    spaces: tuple[SpaceStatistics, ...]
