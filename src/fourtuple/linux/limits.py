"""Limits of this process: open files, and the CPUs it may run on."""

from __future__ import annotations

import os
import resource


def file_limit() -> tuple[int, int]:
    """Return how many files this process may open: the soft limit, in force, and the hard one."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_file_limit() -> int:
    """Raise the soft limit of open files to the hard one and return it."""
    _, hard = file_limit()
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def allowed_cpus() -> list[int]:
    """Return the numbers of the CPUs that the calling thread may run on, in order."""
    return sorted(os.sched_getaffinity(0))


def pin_to_cpu(index: int) -> int:
    """Keep the calling thread on CPU ``index`` of `allowed_cpus` and return that CPU's number.

    Raises ``ValueError`` if there are not that many.
    """
    cpus = allowed_cpus()
    if not 0 <= index < len(cpus):
        raise ValueError(f"index: {index} is outside the {len(cpus)} CPUs allowed here: {cpus}")
    os.sched_setaffinity(0, {cpus[index]})
    return cpus[index]
