"""What fourtuple raises, each an ``OSError`` or ``ValueError`` that a caller already handles.

A connection that finds no source port fails with ``EADDRNOTAVAIL`` on Linux, and so does one from an address
that this machine does not have. The two need opposite remedies, so they are two classes here.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass


class FourtupleError(Exception):
    """Base of every error that only fourtuple raises."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The figures of a port space in which no port is left.

    ``low`` and ``high`` bound the local port range, both included. The counts are ports: ``leased`` to this
    process, ``cooling`` in TIME_WAIT after it, ``foreign`` (the kernel refused them: another owner), ``excluded``
    (reserved, or outside the range since it changed) and ``free``, which is above 0 only when a limit of the
    connector stopped it first. ``next_free`` is in seconds from now, or None when nothing is due.
    """

    source: str
    destination: str
    low: int
    high: int
    leased: int
    cooling: int
    foreign: int
    excluded: int
    free: int
    next_free: float | None

    @property
    def size(self) -> int:
        """The ports of the range, reserved ones included."""
        return self.high - self.low + 1


class PortsExhausted(FourtupleError, OSError):
    """No source port is left towards the destination (``errno`` is ``EADDRNOTAVAIL``).

    ``shortage`` has the figures and ``remedies`` the three steps that apply to them, most useful first.
    """

    def __init__(self, shortage: Shortage, remedies: tuple[str, ...]) -> None:
        self.shortage = shortage
        self.remedies = remedies
        super().__init__(errno.EADDRNOTAVAIL, _exhausted_text(shortage, remedies))

    def __reduce__(self) -> tuple[type[PortsExhausted], tuple[Shortage, tuple[str, ...]]]:
        return type(self), (self.shortage, self.remedies)


def _exhausted_text(shortage: Shortage, remedies: tuple[str, ...]) -> str:
    s = shortage
    when = "" if s.next_free is None else f"; the next one frees in {s.next_free:.1f} s"
    counts = [f"{s.leased} in use here", f"{s.cooling} cooling", f"{s.foreign} held by others"]
    if s.excluded:
        counts.append(f"{s.excluded} reserved")
    if s.free:
        counts.append(f"{s.free} kept free by a limit")
    steps = "".join(f"; {number}) {remedy}" for number, remedy in enumerate(remedies, 1))
    return (
        f"no source port left from {s.source} to {s.destination}: "
        f"range {s.low}-{s.high} ({s.size} ports): {', '.join(counts)}{when}{steps}"
    )


class NoSuchLocalAddress(FourtupleError, OSError):
    """This machine has no address to connect from (``errno`` is ``EADDRNOTAVAIL``); no port is missing.

    Usual causes: a destination that is wrong for this host (``::1`` where IPv6 is off), or a ``source`` that no
    interface has.
    """

    def __init__(self, source: str | None, destination: str) -> None:
        self.source = source
        self.destination = destination
        super().__init__(errno.EADDRNOTAVAIL, _no_address_text(source, destination))

    def __reduce__(self) -> tuple[type[NoSuchLocalAddress], tuple[str | None, str]]:
        return type(self), (self.source, self.destination)


def _no_address_text(source: str | None, destination: str) -> str:
    if source is None:
        return (
            f"this machine has no local address that reaches {destination}; ports are not the matter: check the host "
            f"name, and for an IPv6 destination that IPv6 is on (net.ipv6.conf.*.disable_ipv6)"
        )
    if (":" in source) != destination.startswith("["):
        return (
            f"the source address {source} cannot reach {destination}, which is of the other family: give sources of "
            f"both families, or leave the source to routing"
        )
    return (
        f"no interface of this machine has the source address {source} (towards {destination}): add it, choose "
        f"another, or allow foreign sources with freebind"
    )


class NamespacesRefused(FourtupleError, OSError):
    """The kernel lets this process make no network namespace; the text names the knob to turn."""

    def __init__(self, code: int, remedy: str) -> None:
        self.remedy = remedy
        super().__init__(code, f"cannot make a network namespace ({os.strerror(code)}): {remedy}")

    def __reduce__(self) -> tuple[type[NamespacesRefused], tuple[int, str]]:
        return type(self), (self.errno or 0, self.remedy)


class Unsupported(FourtupleError, OSError):
    """The running kernel has no such feature; ``remedy`` says what to do without it."""

    def __init__(self, code: int, feature: str, remedy: str) -> None:
        self.feature = feature
        self.remedy = remedy
        super().__init__(code, f"{feature} is not available here ({os.strerror(code)}): {remedy}")

    def __reduce__(self) -> tuple[type[Unsupported], tuple[int, str, str]]:
        return type(self), (self.errno or 0, self.feature, self.remedy)
