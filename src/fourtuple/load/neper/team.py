"""The threads of a run."""

from __future__ import annotations

import errno
import os
import select
import threading
from collections.abc import Sequence

from fourtuple.linux.limits import allowed_cpus

from .errors import RunFailed
from .program import Worker
from .stopping import Bell


class Team:
    """A thread for each worker. Each rings the bell when it ends."""

    def __init__(self, workers: Sequence[Worker], bell: Bell) -> None:
        self.workers = workers
        self._bell = bell
        self._ended: list[Worker] = []
        self._failures: list[OSError] = []
        # Loops that have started wait at it, or they would take the processors from those that have not.
        self._gate = select.epoll()
        self._open = os.eventfd(0, os.EFD_CLOEXEC)
        self._gate.register(self._open, select.EPOLLIN)
        self._threads = [threading.Thread(target=self._run, args=(worker,), daemon=True) for worker in workers]

    def start(self) -> None:
        """Start all loops, which then wait for ``go``. Raises RunFailed if the system gives no more threads."""
        try:
            for thread in self._threads:
                thread.start()
        except RuntimeError as error:
            running = sum(thread.ident is not None for thread in self._threads)
            raise RunFailed(
                errno.EAGAIN,
                f"--num-threads {len(self._threads)}: the system gives this process {running} more threads ({error}); "
                f"use fewer, or raise its limits (ulimit -u, pids.max of the cgroup)",
            ) from error

    def go(self) -> None:
        """Let all loops go on. Raises the OSError with which one of them could not start."""
        if self._failures:
            raise self._failures[0]
        self._open_gate()

    @property
    def started(self) -> bool:
        """Whether all loops wait for ``go``, or have gone, or one could not start."""
        return bool(self._failures) or all(worker.loop.started for worker in self.workers)

    def pin(self) -> None:
        """Keep thread i on allowed CPU i, and begin again where there are no more."""
        cpus = allowed_cpus()
        for number, thread_id in enumerate(self.thread_ids):
            os.sched_setaffinity(thread_id, {cpus[number % len(cpus)]})

    @property
    def thread_ids(self) -> list[int]:
        """The kernel's numbers of the threads, once they are started."""
        return [thread.native_id or 0 for thread in self._threads]

    @property
    def ended(self) -> bool:
        """Whether all loops have ended by themselves: what they had to do is done, or all their flows are dead."""
        return len(self._ended) == len(self.workers)

    def stop(self) -> None:
        """Stop all loops and wait for their threads."""
        for worker in self.workers:
            worker.loop.stop()
        self._open_gate()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()

    def close(self) -> None:
        """Close the descriptors, after ``stop``."""
        self._gate.close()
        os.close(self._open)
        for worker in self.workers:
            worker.loop.close()

    def _run(self, worker: Worker) -> None:
        try:
            worker.loop.run(self._gate.fileno())
        except OSError as error:
            self._failures.append(error)
        finally:
            self._ended.append(worker)
            self._bell.ring()

    def _open_gate(self) -> None:
        os.eventfd_write(self._open, 1)
