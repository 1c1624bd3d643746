"""The kernel's settings that a port space follows, read together and kept for a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fourtuple.linux import sysctl

from .timewait import TwReuse

if TYPE_CHECKING:
    from collections.abc import Callable

KEPT_FOR = 1.0
"""Seconds for which one reading serves: a change by sysctl is noticed within it, and reading costs under 0.1 ms."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One reading. ``reserved`` is a bitmap of ports, ``tw_reuse_delay`` is in seconds or None where unknown."""

    low: int
    high: int
    reserved: bytes
    tw_reuse: TwReuse
    tw_reuse_delay: float | None
    timestamps: bool


def read_settings() -> Settings:
    """The settings of the calling thread's network namespace."""
    port_range = sysctl.local_port_range()
    return Settings(
        low=port_range.low,
        high=port_range.high,
        reserved=sysctl.reserved_ports(),
        tw_reuse=TwReuse(sysctl.tcp_tw_reuse()),
        tw_reuse_delay=sysctl.tcp_tw_reuse_delay(),
        timestamps=sysctl.tcp_timestamps() != 0,
    )


class SettingsCache:
    """The newest reading, shared by the port spaces of a connector.

    An unchanged reading stays the same object, so that its users can compare by identity. ``read_at`` is when it was
    last read, in seconds.
    """

    def __init__(self, read: Callable[[], Settings] = read_settings) -> None:
        self._read = read
        self._settings: Settings | None = None
        self.read_at = 0.0

    def at(self, now: float) -> Settings:
        """The settings, read again when the last reading is older than ``KEPT_FOR``; ``now`` in seconds."""
        if self._settings is None or now - self.read_at >= KEPT_FOR:
            return self.fresh(now)
        return self._settings

    def fresh(self, now: float) -> Settings:
        """The settings, read now; those of before where nothing can be read, as by a process out of descriptors."""
        try:
            settings = self._read()
        except OSError:
            if self._settings is None:
                raise
            return self._settings
        self.read_at = now
        if settings != self._settings:
            self._settings = settings
        return self._settings or settings
