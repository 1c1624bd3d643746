"""What to do when no port is left: the three steps that apply to the figures at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .timewait import TwReuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fourtuple.errors import Shortage

    from .settings import Settings

_LARGE = 0.25  # the share of the range from which a cause is named first


def remedies(shortage: Shortage, settings: Settings, *, loopback: bool) -> tuple[str, ...]:
    """Three steps, the one that frees most first. ``loopback`` as for ``timewait.reuse_delay``."""
    steps = _steps(shortage, settings, loopback=loopback)
    return tuple(step for step, _ in zip(steps, range(3), strict=False))


def _steps(shortage: Shortage, settings: Settings, *, loopback: bool) -> Iterator[str]:
    size = shortage.size
    if shortage.free:
        yield f"raise Limits.ports: {shortage.free} ports are free above it"
    if shortage.cooling >= _LARGE * size:
        yield from _against_time_wait(shortage, settings, loopback=loopback)
    if shortage.foreign >= _LARGE * size:
        yield f"find who holds the {shortage.foreign} other ports: ss -tanp dst {shortage.destination}"
    if shortage.excluded >= _LARGE * size:
        yield f"release some of the {shortage.excluded} reserved ports (net.ipv4.ip_local_reserved_ports)"
    if size > shortage.excluded:
        yield f"connect from further source addresses (source=[...]): each adds {size - shortage.excluded} ports"
    yield "keep connections open and reuse them (keep-alive, a pool) instead of one connection a request"
    yield (
        f"widen net.ipv4.ip_local_port_range (now {shortage.low}-{shortage.high}), but first check what listens in the "
        f"ports you add: ss -tln"
    )


def _against_time_wait(shortage: Shortage, settings: Settings, *, loopback: bool) -> Iterator[str]:
    resting = f"{shortage.cooling} ports rest since this end closed first"
    if not settings.timestamps:
        yield f"set net.ipv4.tcp_timestamps=1: {resting}, and without timestamps none is reused for 60 s"
    elif settings.tw_reuse is TwReuse.OFF or (settings.tw_reuse is TwReuse.LOOPBACK and not loopback):
        yield f"set net.ipv4.tcp_tw_reuse=1 (now {settings.tw_reuse.value}): {resting}, for 60 s; after 1 s then"
    yield f"let the other end close first: {resting}"
