"""Kinds of failure, by errno."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Final

_KINDS: Final[Mapping[int, str]] = {
    errno.ECONNREFUSED: "refused",
    errno.ETIMEDOUT: "timed_out",
    errno.EADDRNOTAVAIL: "no_port",
    errno.EADDRINUSE: "no_port",
    errno.ECONNRESET: "reset",
    errno.EPIPE: "reset",
    0: "closed",
    errno.ENETUNREACH: "unreachable",
    errno.EHOSTUNREACH: "unreachable",
    errno.ENETDOWN: "unreachable",
    errno.EHOSTDOWN: "unreachable",
    errno.EMFILE: "files",
    errno.ENFILE: "files",
}

KINDS: Final = (*dict.fromkeys(_KINDS.values()), "other")
"""``closed``: the peer closed before it had answered. ``no_port``: no source port was left, or the one asked for is in
use. ``files``: no file descriptor was left."""


def by_kind(failures: Mapping[int, int]) -> dict[str, int]:
    """Failures by errno as failures by kind, every kind included."""
    counts = dict.fromkeys(KINDS, 0)
    for code, count in failures.items():
        counts[_KINDS.get(code, "other")] += count
    return counts


def told(failures: Mapping[int, int]) -> str:
    """Failures in words: ``3 refused, 1 timed_out``."""
    return ", ".join(f"{count} {kind}" for kind, count in by_kind(failures).items() if count) or "no failures"
