"""Port spaces for workloads that take their ports in compiled loops: one lane for each source and destination."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from fourtuple.load.engine.lanes import Lane
from fourtuple.ports import endpoints
from fourtuple.ports.settings import Settings, read_settings
from fourtuple.ports.space import PortSpace, coprime_stride
from fourtuple.ports.timewait import TIME_WAIT, reuse_delay

if TYPE_CHECKING:
    from collections.abc import Sequence


def open_lanes(destinations: Sequence[str], sources: Sequence[str]) -> Lane:
    """Lanes with all ports of the local port range, as `fourtuple.load.engine.client.Flows` numbers them.

    ``destinations`` and ``sources`` are hosts, a destination once for each of its ports; without sources routing
    decides. The range, the reserved ports and tcp_tw_reuse are read from this thread's network namespace now, and not
    followed. Raises ValueError without destinations, and OSError where the settings cannot be read.
    """
    settings = read_settings()
    lane: Lane | None = None
    # From the last to the first: each lane knows the one after it.
    for destination in reversed(destinations):
        for source in reversed(sources or [""]):
            hosts = [endpoints.canonical(host) for host in (source, destination) if host]
            lane = Lane(_space(settings, loopback=any(map(endpoints.is_loopback, hosts))), lane)
    if lane is None:
        raise ValueError("destinations: there must be at least one")
    return lane


def _space(settings: Settings, *, loopback: bool) -> PortSpace:
    size = settings.high - settings.low + 1
    return PortSpace(
        settings.low,
        settings.high,
        excluded=settings.reserved,
        reuse_delay=reuse_delay(
            settings.tw_reuse,
            settings.tw_reuse_delay,
            timestamps=settings.timestamps,
            loopback=loopback,
            explicit_bind=False,
        ),
        time_wait=TIME_WAIT,
        start=random.randrange(size),
        stride=coprime_stride(size, random.randrange(size)),
    )
