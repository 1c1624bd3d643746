"""Starts the processes of a stressor, ends them, and adds up what they used."""

from __future__ import annotations

import errno
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Pipe, wait

from fourtuple.errors import FourtupleError
from fourtuple.linux.limits import file_limit

from .board import Board
from .cells import Cells
from .metrics import Ending
from .worker import Worker

_LOOK = 0.25  # seconds between two looks at the processes


@dataclass(frozen=True, slots=True)
class Role:
    """A process of an instance: its name, what makes its worker (by pickle), and a descriptor that it inherits."""

    name: str
    make: Callable[[Cells], Worker]
    descriptor: int | None = None


class TooFewFiles(FourtupleError, OSError):
    """This process may not open as many files as a run takes (``errno`` is ``EMFILE``)."""

    def __init__(self, instances: int, soft: int, hard: int) -> None:
        self.instances = instances
        self.soft = soft
        self.hard = hard
        super().__init__(
            errno.EMFILE,
            f"the limit of {soft} open files has no room for so many instances ({instances}): raise it with ulimit -n "
            f"(here to {hard} at most, by root further), or run fewer",
        )

    def __reduce__(self) -> tuple[type[TooFewFiles], tuple[int, int, int]]:
        return type(self), (self.instances, self.soft, self.hard)


@contextmanager
def opening_files(instances: int) -> Generator[None, None, None]:
    """Raise ``TooFewFiles`` where files of so many instances are opened in vain."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EMFILE:
            raise TooFewFiles(instances, *file_limit()) from error
        raise


class Member:
    """A process with ``cells`` for its worker. ``answers`` can be read once the worker or the process has ended."""

    def __init__(self, role: Role, instance: int, board: Board, row: int) -> None:
        self.name = role.name
        self.cells = board.rows[row]
        self._title = f"the {role.name} of instance {instance}"
        self._before = 0.0, 0.0
        orders, self._orders = Pipe(duplex=False)
        self.answers, answers = Pipe(duplex=False)
        inherited = [] if role.descriptor is None else [role.descriptor]
        with orders, answers:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "fourtuple.load.stress.member", str(board.fd), str(row)],
                stdin=orders.fileno(),
                stdout=answers.fileno(),
                pass_fds=[board.fd, *inherited],
                # Away from Ctrl-C, which is for the process that asks.
                process_group=0,
            )
        self._order(role.make)

    def await_ready(self) -> None:
        """Wait until the worker is made. Raises the ``OSError`` that it met, ``ChildProcessError`` if it is gone."""
        try:
            answer = self.answers.recv()
        except EOFError:
            raise ChildProcessError(f"{self._title} ended before it was ready") from None
        if isinstance(answer, OSError):
            raise answer
        self._before = answer

    def start(self) -> None:
        """Give the start signal."""
        self._order(None)

    def is_done(self) -> bool:
        """Whether the worker ended, not the process. To be asked when there are ``answers``."""
        try:
            self.answers.recv()
        except EOFError:
            return False
        return True

    def kill(self) -> None:
        """Kill the process, which may be gone already."""
        os.kill(self._process.pid, signal.SIGKILL)

    def await_end(self) -> None:
        """Wait until the process is gone. It is still to be reaped then."""
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)

    def reap(self) -> tuple[float, float, int]:
        """The user and system seconds since the process was ready and its largest size in KiB, once it is gone."""
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._orders.close()
        self.answers.close()
        user, system = self._before
        return usage.ru_utime - user, usage.ru_stime - system, usage.ru_maxrss

    def _order(self, order: object) -> None:
        # One that is gone already is noticed by its lack of answers.
        with suppress(BrokenPipeError):
            self._orders.send(order)

    def complaint(self) -> str:
        """How the process ended. To be asked once it is reaped."""
        code = self._process.returncode
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"
        return f"{self._title} {how}"


class Instance:
    """The processes of one instance, which end together."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members
        self.wall_clock: float | None = None
        self._lost: Member | None = None

    def end_with(self, member: Member, began: float) -> None:
        """End all processes since one of them has answers."""
        if self.wall_clock is None and not member.is_done():
            self._lost = member
        self.end(began)

    def kill(self) -> None:
        """Kill all processes, the last first: a client must not live to see its server gone."""
        for member in reversed(self.members):
            member.kill()

    def end(self, began: float) -> None:
        """Kill all processes and wait until they are gone, once."""
        if self.wall_clock is None:
            self.kill()
            for member in self.members:
                member.await_end()
            self.wall_clock = time.monotonic() - began

    def complaint(self) -> str | None:
        """What to say of a process that ended by itself, if one did. To be asked once all are reaped."""
        if self._lost is None:
            return None
        return f"{self._lost.complaint()} after {self.wall_clock:.1f} s, and its instance ended with it"


class Run:
    """A run of instances. See `started`."""

    def __init__(self) -> None:
        self.instances: list[Instance] = []
        self._began = 0.0
        self._ending: Ending | None = None

    def rows(self, role: str) -> list[Cells]:
        """The cells of every process of that role."""
        return [member.cells for member in _all(self.instances) if member.name == role]

    def watch(self, seconds: float) -> Iterator[float]:
        """Let the run go on until it is ``seconds`` old or every instance is over.

        Yields its age in seconds, several times a second. A process that ends takes its instance with it.
        """
        while any(instance.wall_clock is None for instance in self.instances):
            age = time.monotonic() - self._began
            if age >= seconds:
                return
            yield age
            self._look(min(seconds - age, _LOOK))

    def stop(self) -> Ending:
        """End what still runs and tell what all used. Later calls tell the same."""
        if self._ending is None:
            self._look(0)
            for instance in self.instances:
                instance.kill()
            for instance in self.instances:
                instance.end(self._began)
            used = [member.reap() for member in _all(self.instances)]
            complaints = [instance.complaint() for instance in self.instances]
            self._ending = Ending(
                wall_clock=sum(instance.wall_clock or 0 for instance in self.instances) / max(1, len(self.instances)),
                user=sum(user for user, _, _ in used),
                system=sum(system for _, system, _ in used),
                max_rss=max((size for _, _, size in used), default=0),
                complaints=tuple(complaint for complaint in complaints if complaint),
            )
        return self._ending

    def _look(self, seconds: float) -> None:
        # End instances of which a worker or a process has ended, the first within so many seconds.
        running = [instance for instance in self.instances if instance.wall_clock is None]
        answers = wait([member.answers for member in _all(running)], seconds)
        for instance in running:
            for member in instance.members:
                if member.answers in answers:
                    instance.end_with(member, self._began)

    def prepare(self, crews: Sequence[Sequence[Role]]) -> None:
        """Start a process for every role of every instance, wait until all are ready, and give the start signal."""
        rows = itertools.count()
        with opening_files(len(crews)), closing(Board(sum(map(len, crews)))) as board:
            for number, roles in enumerate(crews):
                members: list[Member] = []
                self.instances.append(Instance(members))
                for role in roles:
                    members.append(Member(role, number, board, next(rows)))
        for member in _all(self.instances):
            member.await_ready()
        self._began = time.monotonic()
        for member in _all(self.instances):
            member.start()


def _all(instances: Sequence[Instance]) -> list[Member]:
    return [member for instance in instances for member in instance.members]


@contextmanager
def started(crews: Sequence[Sequence[Role]]) -> Generator[Run, None, None]:
    """Have a process for every role of every instance, for the length of a ``with`` block, and let them run.

    They end with the block, or with this process, and leave nothing behind. Raises the ``OSError`` that keeps a worker
    from its start, ``TooFewFiles``, and ``ChildProcessError`` when a process ends before that.
    """
    run = Run()
    try:
        run.prepare(crews)
        yield run
    finally:
        run.stop()
