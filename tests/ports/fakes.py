"""What stands in for the kernel and the clock below a port space."""

from __future__ import annotations

from dataclasses import replace

from fourtuple.ports.settings import Settings
from fourtuple.ports.shared import Lease, SharedSpace
from fourtuple.ports.timewait import TwReuse

SETTINGS = Settings(low=10_000, high=10_099, reserved=b"", tw_reuse=TwReuse.ON, tw_reuse_delay=1.0, timestamps=True)


class Clock:
    """A clock that stands still between the steps of a test. ``now`` is in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Sysctls:
    """A reader for ``SettingsCache``: what a test sets as ``settings`` or ``error``, and how often it was asked."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.settings = settings
        self.error: OSError | None = None
        self.readings = 0

    def __call__(self) -> Settings:
        self.readings += 1
        if self.error is not None:
            raise self.error
        # An object of its own for each reading, as from the kernel.
        return replace(self.settings)


_kept: list[Lease] = []  # a lease that is dropped gives its port back


def take(space: SharedSpace) -> Lease:
    """A lease of the space, kept until the tests end."""
    lease = space.take()
    assert lease is not None
    _kept.append(lease)
    return lease
