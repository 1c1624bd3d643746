"""Workloads as whole commands, a server and a client of one tool, and the figures that they print."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PATIENCE = 120.0  # seconds on top of a run's length
_CONTROL_PORT = 12866
_LISTEN = "0A"


@dataclass(frozen=True)
class Tool:
    """A command for each workload, by its name."""

    name: str
    prefix: tuple[str, ...]

    @classmethod
    def ours(cls) -> Tool:
        """Return fourtuple, as this interpreter has it."""
        return cls("fourtuple", (sys.executable, "-m", "fourtuple", ""))

    @classmethod
    def of(cls, directory: Path) -> Tool:
        """Return neper's programs in a directory."""
        return cls("neper", (f"{directory}/",))

    def command(self, workload: str, *arguments: str) -> list[str]:
        """Return the command line."""
        *before, last = self.prefix
        return [*before, last + workload, *arguments]


@dataclass(frozen=True)
class Outcome:
    """What both sides printed, key by key."""

    client: dict[str, str]
    server: dict[str, str]

    @property
    def throughput(self) -> float:
        """Transactions per second, or the unit of the stream, from the side that counts."""
        return float(self._counting["throughput"])

    @property
    def cpu(self) -> float:
        """Seconds of processor of both sides together for a transaction, or for a unit of the stream."""
        counting = self._counting
        seconds = float(counting["time_end"]) - float(counting["time_start"])
        return (_cpu(self.client) + _cpu(self.server)) / (seconds * self.throughput)

    @property
    def apart(self) -> tuple[float, float]:
        """Seconds of processor of the client and of the server for a transaction."""
        transactions = int(self.client["num_transactions"])
        return _cpu(self.client) / transactions, _cpu(self.server) / transactions

    @property
    def resident(self) -> int:
        """KiB of memory of the client, the most."""
        return int(self.client["maxrss_end"])

    @property
    def _counting(self) -> dict[str, str]:
        return self.client if "throughput" in self.client else self.server


def run(tool: Tool, workload: str, both: Sequence[str], client: Sequence[str]) -> Outcome:
    """Run a server and a client over IPv6 loopback in the network namespace of this thread.

    ``both`` are arguments of either side, ``client`` those of the client besides. Raises ``ChildProcessError`` with
    what a side said when it failed.
    """
    with _started(tool.command(workload, "-6", "--nolog", *both)) as server:
        _until_listening(server)
        with _started(tool.command(workload, "-6", "--nolog", *both, *client, "-c", "-H", "::1")) as connecting:
            printed = _finish(connecting)
        return Outcome(printed, _finish(server))


@dataclass
class _Process:
    command: list[str]
    process: subprocess.Popen[str]
    output: IO[str]
    complaints: IO[str]


@contextmanager
def _started(command: list[str]) -> Generator[_Process, None, None]:
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=complaints, text=True)
        try:
            yield _Process(command, process, output, complaints)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def _finish(started: _Process) -> dict[str, str]:
    status = started.process.wait(_PATIENCE)
    started.output.seek(0)
    printed = started.output.read()
    if status:
        started.complaints.seek(0)
        raise ChildProcessError(
            f"{' '.join(started.command)}: exit status {status}: {started.complaints.read()[-500:]}"
        )
    pairs = (line.partition("=") for line in printed.splitlines())
    return {key: value for key, sign, value in pairs if sign}


def _until_listening(server: _Process) -> None:
    # A client that comes too soon would try again a second later.
    pause = threading.Event()
    while not _listens(_CONTROL_PORT):
        if server.process.poll() is not None:
            _finish(server)
            raise ChildProcessError(f"{' '.join(server.command)}: ended before it listened")
        pause.wait(0.01)


def _listens(port: int) -> bool:
    for line in Path("/proc/thread-self/net/tcp6").read_text().splitlines()[1:]:
        _, local, _, state, *_ = line.split()
        if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
            return True
    return False


def _cpu(printed: dict[str, str]) -> float:
    return sum(float(printed[f"{kind}_end"]) - float(printed[f"{kind}_start"]) for kind in ("utime", "stime"))
