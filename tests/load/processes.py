"""Processes that a test started, directly or not."""

from __future__ import annotations

import os
import select
from pathlib import Path

_PATIENCE_MS = 30_000


def descendants(pid: int) -> set[int]:
    """Return the children of a process, and theirs."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    children = {int(child) for task in tasks for child in task.read_text().split()}
    return children.union(*map(descendants, children))


def all_end(pids: set[int]) -> bool:
    """Return whether all of the processes end, which is waited for."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        ended = poll.poll(_PATIENCE_MS)
        os.close(descriptor)
        if not ended:
            return False
    return True
