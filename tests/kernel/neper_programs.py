"""Runs of tcp_crr and tcp_rr as a user starts them: a server and its clients, in the namespace of the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOURTUPLE = [sys.executable, "-m", "fourtuple"]
CONTROL_PORT = 12866
DATA_PORT = 12867
LONGEST = 60  # seconds that any of them may take


@dataclass(frozen=True)
class Result:
    """How a program ended, and the key=value lines that it printed."""

    status: int
    values: dict[str, str]
    errors: str

    def number(self, key: str) -> float:
        return float(self.values[key])


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start a program; a client waits for its server by itself."""
    return subprocess.Popen([*FOURTUPLE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> Result:
    """Wait for the end of a program."""
    output, errors = process.communicate(timeout=LONGEST)
    pairs = (line.partition("=") for line in output.splitlines())
    return Result(process.returncode, {key: value for key, _, value in pairs}, errors)


def run(*arguments: str) -> Result:
    """Run a program to its end."""
    return ended(start(*arguments))


@contextmanager
def started(*arguments: str) -> Generator[subprocess.Popen[str], None, None]:
    """A program that is killed if it has not ended by itself."""
    process = start(*arguments)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def pair(program: str, server: str, client: str) -> tuple[Result, Result]:
    """Run a server and a client with these arguments: (server's, client's)."""
    with started(program, *server.split()) as serving:
        result = run(program, "-c", *client.split())
        return ended(serving), result


def connections() -> list[tuple[int, int]]:
    """The (local port, remote port) of every connection that the kernel lists as established."""
    lines: list[str] = []
    for file in ("tcp", "tcp6"):
        lines += Path(f"/proc/thread-self/net/{file}").read_text(encoding="ascii").splitlines()[1:]
    # Columns: number, local address, remote address, state.
    columns = [line.split() for line in lines]
    return [(int(local[-4:], 16), int(remote[-4:], 16)) for _, local, remote, state, *_ in columns if state == "01"]


def wait_for_connections(port: int, count: int) -> None:
    """Until so many connections to the port are established."""
    while sum(remote == port for _, remote in connections()) < count:
        pass
