"""What --engine chooses among: the loops of tcp_crr and tcp_rr, over epoll and over io_uring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fourtuple.load.engine.crr import CrrClient
from fourtuple.load.engine.echo import EchoServer
from fourtuple.load.engine.rr import RrClient
from fourtuple.load.engine.uring_crr import UringCrrClient
from fourtuple.load.engine.uring_echo import UringEchoServer
from fourtuple.load.engine.uring_rr import UringRrClient

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Engine:
    """The loops of one kind. Either side's may be of either kind: on the wire they are one."""

    crr: type[CrrClient]
    rr: type[RrClient]
    server: type[EchoServer | UringEchoServer]


ENGINES: Final[Mapping[str, Engine]] = {
    "epoll": Engine(CrrClient, RrClient, EchoServer),
    "io_uring": Engine(UringCrrClient, UringRrClient, UringEchoServer),
}
"""By the value of --engine."""
