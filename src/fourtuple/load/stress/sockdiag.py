"""sockdiag: instances that ask the kernel for all AF_UNIX sockets, over and over.

A bogo operation is an attribute of a socket, so the rate rises and falls with how many AF_UNIX sockets the network
namespace has. A rate means something only beside that number, which is therefore reported.
"""

from __future__ import annotations

import errno
import math
from array import array
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from fourtuple.errors import Unsupported

from . import dumper
from .cells import CELLS, DumperCell, failures
from .dumper import Dumper
from .metrics import Metrics
from .run import Role, Run, started


@dataclass(frozen=True, slots=True)
class Sockdiag:
    """What to run: ``instances``. ``operations`` bogo operations of all together end the run, 0 for never.

    Raises ValueError that names the argument.
    """

    instances: int = 1
    operations: int = 0

    def __post_init__(self) -> None:
        if self.instances < 1:
            raise ValueError(f"instances must be 1 or more, not {self.instances}")
        if self.operations < 0:
            raise ValueError(f"operations must be 0 or more, not {self.operations}")


@dataclass(frozen=True, slots=True)
class SockdiagReport:
    """What came of a run, of all instances together.

    ``at_start``, ``least``, ``greatest`` and ``at_end`` are the AF_UNIX sockets of the network namespace, ``sockets``
    those of all ``dumps``. ``failures`` counts by system call and error.
    """

    metrics: Metrics
    dumps: int
    sockets: int
    at_start: int
    least: int
    greatest: int
    at_end: int
    failures: dict[str, dict[str, int]]

    @property
    def per_dump(self) -> float:
        """Sockets of a dump on average; 0 without one."""
        return self.sockets / self.dumps if self.dumps else 0.0

    def document(self) -> dict[str, Any]:
        """What is no metric of stress-ng's, for JSON; all are counts."""
        return {
            "dumps": self.dumps,
            "unix_sockets": {
                "at_start": self.at_start,
                "least": self.least,
                "greatest": self.greatest,
                "at_end": self.at_end,
                "per_dump": self.per_dump,
            },
            "failures": self.failures,
        }


@dataclass(frozen=True, slots=True)
class SockdiagRun:
    """Instances that run. See `open_sockdiag`."""

    settings: Sockdiag
    run: Run
    at_start: int

    def bogo_ops(self) -> int:
        """The bogo operations until now."""
        return sum(row[DumperCell.ATTRIBUTES] for row in self.run.rows("dumper"))

    def report(self) -> SockdiagReport:
        """End the run and tell what came of it."""
        ending = self.run.stop()
        at_end = population()
        rows = self.run.rows("dumper")
        told = [row for row in rows if row[DumperCell.DUMPS]]
        return SockdiagReport(
            Metrics("sockdiag", self.settings.instances, self.bogo_ops(), ending),
            dumps=sum(row[DumperCell.DUMPS] for row in rows),
            sockets=sum(row[DumperCell.SOCKETS] for row in rows),
            at_start=self.at_start,
            least=min([self.at_start, at_end, *(row[DumperCell.LEAST] for row in told)]),
            greatest=max([self.at_start, at_end, *(row[DumperCell.GREATEST] for row in told)]),
            at_end=at_end,
            failures=failures(rows, dumper.FAILURES),
        )


@contextmanager
def open_sockdiag(settings: Sockdiag) -> Generator[SockdiagRun, None, None]:
    """Have the instances run for the length of a ``with`` block, in the network namespace of the calling thread.

    Raises what `population` and `fourtuple.load.stress.run.started` raise.
    """
    at_start = population()
    most = math.ceil(settings.operations / settings.instances)
    with started([[Role("dumper", partial(Dumper, most))] for _ in range(settings.instances)]) as run:
        yield SockdiagRun(settings, run, at_start)


def population() -> int:
    """The number of AF_UNIX sockets in the network namespace of the calling thread.

    Raises ``Unsupported`` where the kernel does not tell.
    """
    cells = memoryview(array("q", bytes(8 * CELLS)))
    Dumper(0, cells).step()
    if cells[DumperCell.DUMPS] == 0:
        kinds = [kind for counts in failures([cells], dumper.FAILURES).values() for kind in counts]
        code = getattr(errno, kinds[-1], errno.EBADMSG)
        raise Unsupported(
            code,
            "the kernel's list of AF_UNIX sockets (sock_diag)",
            "load the module unix_diag, or use a kernel with CONFIG_UNIX_DIAG",
        )
    return cells[DumperCell.SOCKETS]
