"""How a chosen port is imposed on a socket, and what to do where the kernel offers less."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from fourtuple.linux import features

if TYPE_CHECKING:
    from collections.abc import Callable


class Strategy(Enum):
    """The way a port gets onto a socket. See docs/strategies.md for the side effects of each."""

    RANGE = "range"
    """IP_LOCAL_PORT_RANGE narrowed to one port: leaves the port shareable towards other destinations, by everyone.
    Linux 91d0b78c5177 ("inet: Add IP_LOCAL_PORT_RANGE socket option") (in v6.3)."""
    BIND = "bind"
    """bind() to the port with SO_REUSEADDR: for kernels without RANGE. While such a socket lives, connections that
    let the kernel choose pass the port over, for every destination."""
    KERNEL = "kernel"
    """No port is imposed; the kernel searches."""


def best_strategy(
    has_range: Callable[[], bool] = features.has_local_port_range,
    has_shared_bind: Callable[[], bool] = features.has_shared_bind,
) -> Strategy:
    """RANGE where the running kernel has it, else BIND where it works, else KERNEL. The probes try the thing."""
    if has_range():
        return Strategy.RANGE
    return Strategy.BIND if has_shared_bind() else Strategy.KERNEL


def parse_strategy(strategy: Strategy | str) -> Strategy:
    """A ``Strategy`` from itself or its name. Raises ValueError that lists the names."""
    try:
        return Strategy(strategy)
    except ValueError:
        names = ", ".join(member.value for member in Strategy)
        raise ValueError(f"strategy must be one of {names}, not {strategy!r}") from None
