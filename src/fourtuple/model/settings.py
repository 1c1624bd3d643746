"""What an administrator sets: the sysctls that the port search reads, by their names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

_PORTS = range(1, 65536)


@dataclass(frozen=True, slots=True)
class Settings:
    """The sysctls and their defaults. Raises ValueError, which names the sysctl, for a value that the kernel refuses.

    ``tcp_tw_reuse_delay`` is in milliseconds, ``tcp_fin_timeout`` in seconds.
    """

    ip_local_port_range: tuple[int, int] = (32768, 60999)
    ip_local_reserved_ports: Iterable[int] = field(default_factory=frozenset[int])
    ip_local_port_step_width: int = 0
    tcp_tw_reuse: int = 2
    tcp_tw_reuse_delay: int = 1000
    tcp_timestamps: int = 1
    tcp_fin_timeout: int = 60

    def __post_init__(self) -> None:
        low, high = self.ip_local_port_range
        if low not in _PORTS or high not in _PORTS or low > high:
            raise ValueError(
                f"ip_local_port_range: {low} to {high} is no range of ports; take a lower and an upper bound "
                f"between 1 and 65535"
            )
        strange = [port for port in self.ip_local_reserved_ports if not 0 <= port <= 65535]
        if strange:
            raise ValueError(f"ip_local_reserved_ports: {strange[0]} is no port")
        if self.tcp_tw_reuse not in (0, 1, 2):
            raise ValueError(f"tcp_tw_reuse: 0, 1 or 2, not {self.tcp_tw_reuse}")
        for name in ("ip_local_port_step_width", "tcp_tw_reuse_delay", "tcp_timestamps"):
            value: int = getattr(self, name)
            if value < 0:
                raise ValueError(f"{name}: 0 or more, not {value}")
        if not 1 <= self.tcp_fin_timeout <= 60:
            raise ValueError(f"tcp_fin_timeout: modelled from 1 to 60 seconds, not {self.tcp_fin_timeout}")
