"""What this process has used so far, as neper prints it at both ends of a run."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

# Of the columns of "cpu" in /proc/stat, see proc(5): system, irq and softirq.
_SYSTEM_COLUMNS = (2, 5, 6)


@dataclass(frozen=True, slots=True)
class Usage:
    """Times in seconds, ``maxrss`` in KiB, the rest are counts; see getrusage(2)."""

    utime: float
    stime: float
    maxrss: int
    minflt: int
    majflt: int
    nvcsw: int
    nivcsw: int


def process_usage() -> Usage:
    """That of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Usage(
        used.ru_utime,
        used.ru_stime,
        used.ru_maxrss,
        used.ru_minflt,
        used.ru_majflt,
        used.ru_nvcsw,
        used.ru_nivcsw,
    )


def system_seconds(line: str, ticks: int) -> float:
    """Seconds in the kernel, from the first line of ``/proc/stat`` with ``ticks`` a second."""
    columns = line.split()[1:]
    return sum(int(columns[column]) for column in _SYSTEM_COLUMNS) / ticks


@contextmanager
def usage_by_machine() -> Generator[Callable[[], Usage], None, None]:
    """A `process_usage` whose ``stime`` is that of the whole machine, from now on: all CPUs, interrupts included.

    The file stays open: at the end of a run there may be no descriptor left.
    """
    with open("/proc/stat", encoding="ascii") as stat:

        def system_time() -> float:
            stat.seek(0)
            return system_seconds(stat.readline(), os.sysconf("SC_CLK_TCK"))

        start = system_time()
        yield lambda: replace(process_usage(), stime=system_time() - start)
