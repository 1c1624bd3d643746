"""What this process has used so far, as neper prints it at both ends of a run."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass

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


def machine_system_time() -> float:
    """Seconds that all CPUs have spent in the kernel, interrupts included, since the machine started."""
    with open("/proc/stat", encoding="ascii") as stat:
        return system_seconds(stat.readline(), os.sysconf("SC_CLK_TCK"))


def system_seconds(line: str, ticks: int) -> float:
    """The same from the first line of ``/proc/stat``, with ``ticks`` a second."""
    columns = line.split()[1:]
    return sum(int(columns[column]) for column in _SYSTEM_COLUMNS) / ticks


def usage_by_machine() -> Callable[[], Usage]:
    """A `process_usage` whose ``stime`` is that of the whole machine, from now on."""
    start = machine_system_time()

    def usage() -> Usage:
        own = process_usage()
        return Usage(
            own.utime,
            machine_system_time() - start,
            own.maxrss,
            own.minflt,
            own.majflt,
            own.nvcsw,
            own.nivcsw,
        )

    return usage
