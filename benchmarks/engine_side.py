"""One side of a workload over one engine, as a process of `io_uring_vs_epoll.py`.

Says "ready" when it runs, measures when a line tells it to, prints what it found as a line of JSON, and ends when its
input does.
"""

from __future__ import annotations

import json
import resource
import socket
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from fourtuple.linux.addresses import packed
from fourtuple.linux.limits import raise_file_limit
from fourtuple.load.engine.client import Client, Flows
from fourtuple.load.engine.crr import CrrClient
from fourtuple.load.engine.echo import EchoServer
from fourtuple.load.engine.rr import RrClient
from fourtuple.load.engine.uring_crr import UringCrrClient
from fourtuple.load.engine.uring_echo import UringEchoServer
from fourtuple.load.engine.uring_rr import UringRrClient

_PORT = 12867
_BACKLOG = 4096
_SERVERS = {"epoll": EchoServer, "io_uring": UringEchoServer}
_CLIENTS: dict[tuple[str, str], type[CrrClient | RrClient]] = {
    ("epoll", "tcp_crr"): CrrClient,
    ("epoll", "tcp_rr"): RrClient,
    ("io_uring", "tcp_crr"): UringCrrClient,
    ("io_uring", "tcp_rr"): UringRrClient,
}


@dataclass(frozen=True)
class Sample:
    """Transactions per second, seconds of processor time for each, and failures."""

    rate: float
    cpu: float
    failures: int


@click.command()
@click.argument("side", type=click.Choice(["client", "server"]))
@click.argument("engine", type=click.Choice(list(_SERVERS)))
@click.argument("workload", type=click.Choice(["tcp_crr", "tcp_rr"]))
@click.argument("threads", type=int)
@click.argument("flows", type=int)
@click.argument("seconds", type=float)
def main(side: str, engine: str, workload: str, threads: int, flows: int, seconds: float) -> None:
    """Run one side until standard input ends."""
    raise_file_limit()
    loops: Sequence[Client | EchoServer | UringEchoServer]
    if side == "server":
        listeners = [_listener() for _ in range(threads)]
        loops = [_SERVERS[engine]([listener.fileno()], request=1, response=1) for listener in listeners]
    else:
        client = _CLIENTS[engine, workload]
        loops = [client(_flows(flows // threads), request=1, response=1) for _ in range(threads)]
    running = [threading.Thread(target=loop.run) for loop in loops]
    for thread in running:
        thread.start()
    click.echo("ready")
    sys.stdin.readline()
    click.echo(json.dumps(asdict(_measure(loops, seconds))))
    sys.stdin.read()
    for loop in loops:
        loop.stop()
    for thread in running:
        thread.join()


def _measure(loops: Sequence[Client | EchoServer | UringEchoServer], seconds: float) -> Sample:
    begun, count, spent = time.monotonic(), sum(loop.transactions for loop in loops), _cpu()
    time.sleep(seconds)
    ended, count, spent = time.monotonic(), sum(loop.transactions for loop in loops) - count, _cpu() - spent
    failures = sum(sum(loop.failures) for loop in loops)
    return Sample(rate=count / (ended - begun), cpu=spent / max(1, count), failures=failures)


def _cpu() -> float:
    # Threads that the kernel runs for an io_uring are this process's own.
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _listener() -> socket.socket:
    listener = socket.create_server(("::", _PORT), family=socket.AF_INET6, backlog=_BACKLOG, reuse_port=True)
    listener.setblocking(False)
    return listener


def _flows(count: int) -> Flows:
    return Flows(
        family=socket.AF_INET6,
        destinations=[packed(socket.AF_INET6, ("::1", _PORT))],
        sources=[],
        destination_of=[0] * count,
        source_of=[-1] * count,
        options=[],
        reset=True,
        lanes=None,
    )


if __name__ == "__main__":
    main()
