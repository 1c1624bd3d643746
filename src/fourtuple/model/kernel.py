"""The model kernel: sockets, addresses, settings and time. No I/O and no clock: time passes by `advance`."""

from __future__ import annotations

import socket as _socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .machine import Machine
from .randomness import Randomness
from .settings import Settings
from .sizes import Sizes, sizes
from .sockets import Socket
from .trace import Trace
from .versions import Features

_NEEDED: Final = {"ip_local_port_step_width": "step_width", "tcp_tw_reuse_delay": "reuse_delay"}


class Kernel:
    """A machine with ``features``, of one user, with 127.0.0.0/8 and ``::1``.

    ``memory`` (bytes), ``cpus`` and ``nodes`` decide the sizes of its tables, unless ``table_sizes`` gives them.
    ``seed`` stands for all that the kernel draws at random.
    """

    def __init__(
        self,
        features: Features,
        *,
        memory: int = 24 << 30,
        cpus: int = 2,
        nodes: int = 1,
        table_sizes: Sizes | None = None,
        seed: int = 1,
    ) -> None:
        self.features = features
        self.sizes = table_sizes or sizes(features, memory, cpus=cpus, nodes=nodes)
        self._machine = Machine(features, self.sizes, seed=seed)

    @property
    def settings(self) -> Settings:
        """The sysctls as they are."""
        return self._machine.settings

    @property
    def now(self) -> float:
        """Seconds since the kernel was made."""
        return self._machine.now

    @property
    def recording(self) -> bool:
        """Whether sockets keep the steps of their last operation: tens of thousands where a range is nearly full."""
        return self._machine.tables.recording

    @recording.setter
    def recording(self, wanted: bool) -> None:
        self._machine.tables.recording = wanted

    def configure(self, **changes: object) -> None:
        """Change sysctls, by the names of `Settings`.

        Raises ValueError for a value that the kernel refuses, or a sysctl that this version does not have.
        """
        for name in changes:
            feature = _NEEDED.get(name)
            if feature is not None and not getattr(self.features, feature):
                raise ValueError(f"{name}: this version has no such setting")
            if name not in Settings.__dataclass_fields__:
                raise ValueError(f"{name}: not modelled; known are {', '.join(Settings.__dataclass_fields__)}")
        self._machine.apply(replace(self.settings, **changes))  # pyright: ignore[reportArgumentType] (names are checked)

    def add_address(self, host: str) -> None:
        """Give the machine an address. Raises ValueError for what is none."""
        self._machine.addresses.add(host)

    def socket(self, family: int = _socket.AF_INET, *, netns: int = 0, device: int = 0, l3mdev: int = 0) -> Socket:
        """A TCP socket.

        ``netns`` numbers the network namespace; they share addresses and settings here. ``device`` is what
        SO_BINDTODEVICE would set, ``l3mdev`` the VRF device that it belongs to.
        """
        if family not in (_socket.AF_INET, _socket.AF_INET6):
            raise ValueError(f"family: AF_INET or AF_INET6, not {family}")
        return Socket(self._machine, family, netns=netns, device=device, l3mdev=l3mdev)

    def churn(self, socks: Sequence[Socket], connects: int, *, seed: int = 1) -> Trace:
        """Reset one of ``socks``, drawn at random, and connect it anew, that often, in compiled code without pause.

        Returns the sum of what the connects did; their ports are the sockets' own afterwards. Raises ValueError unless
        all are connected to one destination, from one address, by ports of connect()'s choice from the whole range.
        """
        routes = {sock.route for sock in socks}
        route = routes.pop() if len(routes) == 1 else None
        if route is None or any(route[-2:]):
            raise ValueError(
                f"socks: {len(socks)} sockets, not all connected to one destination by ports of connect()'s choice"
            )
        return self._machine.churn([sock.record for sock in socks], connects, Randomness(seed))

    def peer_closes(self, sock: Socket) -> None:
        """The other end of the connection sends its FIN; ``sock`` may be closed. Raises ValueError without one."""
        sock.close_peer()

    def advance(self, seconds: float) -> Trace:
        """Let time pass; timers fire in order. Returns what they did. Raises ValueError for less than no time."""
        if seconds < 0:
            raise ValueError(f"seconds: time does not run backwards ({seconds})")
        return self._machine.advance(seconds)
