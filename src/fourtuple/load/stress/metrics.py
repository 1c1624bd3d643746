"""stress-ng's metrics of a stressor, by its names and as it computes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

UNITS: Final[Mapping[str, str]] = {
    "stressor": "",
    "bogo-ops": "",
    "bogo-ops-per-second-usr-sys-time": "1/s",
    "bogo-ops-per-second-real-time": "1/s",
    "wall-clock-time": "s",
    "user-time": "s",
    "system-time": "s",
    "cpu-usage-per-instance": "%",
    "max-rss": "KiB",
}
"""The unit of each metric, in stress-ng's order."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What a run used.

    ``wall_clock`` is in seconds, the mean over the instances, each from the start signal until its last process was
    gone. ``user`` and ``system`` are the seconds of processor time of all processes from their start signal on,
    ``max_rss`` the KiB of the largest. ``complaints`` tell of processes that ended when they should not have.
    """

    wall_clock: float
    user: float
    system: float
    max_rss: int
    complaints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The bogo operations of ``instances`` together, and what they used."""

    stressor: str
    instances: int
    bogo_ops: int
    used: Ending

    @property
    def per_second(self) -> float:
        """Bogo operations in a second of real time; 0 when no time has passed."""
        return _share(self.bogo_ops, self.used.wall_clock)

    @property
    def per_cpu_second(self) -> float:
        """Bogo operations in a second of processor time; 0 when none was used."""
        return _share(self.bogo_ops, self.used.user + self.used.system)

    @property
    def cpu_usage(self) -> float:
        """Per cent of a processor that an instance used."""
        return 100 * _share(self.used.user + self.used.system, self.used.wall_clock * self.instances)

    def values(self) -> dict[str, str | int | float]:
        """The metrics by stress-ng's names."""
        values = (
            self.stressor,
            self.bogo_ops,
            self.per_cpu_second,
            self.per_second,
            self.used.wall_clock,
            self.used.user,
            self.used.system,
            self.cpu_usage,
            self.used.max_rss,
        )
        return dict(zip(UNITS, values, strict=True))


def yaml(metrics: Metrics) -> str:
    """The metrics as stress-ng's ``--yaml`` writes them, for what reads those files."""
    lines = [f"{name}: {_plain(value)}" for name, value in metrics.values().items()]
    return "---\nmetrics:\n    - " + "\n      ".join(lines) + "\n\n...\n"


def _plain(value: str | int | float) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0
