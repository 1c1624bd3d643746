"""What one run is, once it is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """How a run ended. A folder that says nothing of it is of a run that was killed."""

    WHOLE = "whole"
    FAILED = "failed"
    """The command ended with another status than 0, or gave no figure."""
    PARTIAL = "partial"
    """Killed or interrupted: what there is was written, what is missing is missing."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A monitor that did not run: why, and what would make it run."""

    monitor: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Run:
    """The contents of ``run.json`` and ``stats.json``.

    ``stats``: key -> scalar, under the robot's names. ``facts``: kernel, machine, clock source, versions, limits.
    ``sysctls``: those that TCP and the scheduler depend on. ``settings``: what A and B differ in. Times are in seconds;
    ``started`` since the epoch.
    """

    command: tuple[str, ...]
    state: State
    started: float
    seconds: float
    status: int | None
    stats: Mapping[str, float]
    facts: Mapping[str, str]
    sysctls: Mapping[str, str] = field(default_factory=dict[str, str])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[str, ...] = ()
    """Failures in words that are the same in every run that has them, such as "workload.exit_status_1"."""
