"""How soon the kernel lets a port in TIME_WAIT be used again towards the same destination."""

from __future__ import annotations

from enum import IntEnum

TIME_WAIT = 60.0
"""Seconds of TIME_WAIT: TCP_TIMEWAIT_LEN, fixed in the kernel."""

_MARGIN = 0.05
# Seconds on top of the kernel's delay: its clock starts when the peer's FIN arrives, ours at close().

_UNKNOWN_DELAY = 2.0
# Seconds on kernels without net.ipv4.tcp_tw_reuse_delay: they compare whole seconds, "more than one".


class TwReuse(IntEnum):
    """net.ipv4.tcp_tw_reuse: which connections may take over a four-tuple in TIME_WAIT."""

    OFF = 0
    ON = 1
    LOOPBACK = 2


def reuse_delay(mode: TwReuse, delay: float | None, *, timestamps: bool, loopback: bool, explicit_bind: bool) -> float:
    """Seconds from our close() until the port may be proposed again, for connections with timestamps.

    ``delay`` is net.ipv4.tcp_tw_reuse_delay in seconds, None where the kernel has none; ``timestamps`` whether
    net.ipv4.tcp_timestamps is on; ``loopback`` whether the source or the destination is a loopback address.

    The kernel's rule is tcp_twsk_unique(): never without timestamps; at once for a socket bound to the port
    (``explicit_bind``); else if tcp_tw_reuse allows and the delay has passed.
    """
    if not timestamps:
        return TIME_WAIT
    if explicit_bind:
        return 0.0
    if mode is TwReuse.OFF or (mode is TwReuse.LOOPBACK and not loopback):
        return TIME_WAIT
    return (_UNKNOWN_DELAY if delay is None else delay) + _MARGIN
