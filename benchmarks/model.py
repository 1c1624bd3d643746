"""The model's speed, and its prediction of candidates per connect() against the live kernel.

How many candidates the live kernel tried is not visible, but the port it chose is, and the ports that were taken are
known: all connections of the namespace are the benchmark's. What a choice implies follows from two bounds. The search
passed only taken ports: it tried at most the run of taken ports of one parity before the chosen one, and that one. And
it started behind where the search before it ended: the kernel moves its hint by what was tried, plus 2 ports (or up to
14 more, when it tried less than that). The smaller bound counts, plus the whole first parity where the other one was
chosen. It errs by the random increment alone, 7 candidates at most and only for short searches; a new offset every
10 s moves one start in thousands.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
import time

from fourtuple.linux.limits import raise_file_limit
from fourtuple.linux.netns import network_namespace
from fourtuple.model.experiment import Experiment, fill, run
from fourtuple.model.kernel import Kernel
from fourtuple.model.summary import summaries
from fourtuple.model.versions import version

LOW, HIGH = 10000, 11999
LEVELS = (5, 50, 75, 95)
CONNECTS = 2000
RESET = struct.pack("ii", 1, 0)


def million(connects: int) -> None:
    experiment = Experiment(low=32768, high=60999, flows=26820)
    kernel = Kernel(version("6.18"))
    held = fill(kernel, experiment)
    chance = random.Random(1)
    candidates = 0
    start = time.process_time()
    for _ in range(connects):
        place = chance.randrange(len(held))
        held[place].reset()
        held[place] = kernel.socket()
        held[place].connect(("127.0.0.1", 80))
        candidates += held[place].trace.candidates
    spent = time.process_time() - start
    print(
        f"{connects:,} connects at 95 % of 28,232 ports: {spent:.1f} s of CPU, {candidates / connects:,.0f} candidates "
        f"each, {spent / candidates * 1e9:.1f} ns a candidate, {spent / connects * 1e6:.1f} s a million"
    )


def implied(choices: list[tuple[int, int]], taken: set[int]) -> float:
    """Mean candidates of searches, each given as (port reset before it, port chosen); ``taken`` before the first."""
    size = HIGH - LOW + 1
    tried = 0
    start = choices[0][1]
    for freed, chosen in choices:
        taken.discard(freed)
        distance = (chosen - chosen % 2 - start) % size // 2
        run = 0
        while run < distance and LOW + (chosen - LOW - 2 * run - 2) % size in taken:
            run += 1
        tried += run + 1 + (size // 2 if chosen % 2 != LOW % 2 else 0)
        taken.add(chosen)
        start = chosen - chosen % 2 + 2
    return tried / len(choices)


def live(level: int) -> float:
    with network_namespace(port_range=(LOW, HIGH)), socket.create_server(("127.0.0.1", 80), backlog=4096) as server:
        accepted: list[socket.socket] = []

        def connect() -> socket.socket:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            sock.connect(("127.0.0.1", 80))
            accepted.append(server.accept()[0])
            return sock

        held = [connect() for _ in range((HIGH - LOW + 1) * level // 100)]
        taken = {sock.getsockname()[1] for sock in held}
        chance = random.Random(1)
        choices: list[tuple[int, int]] = []
        for _ in range(CONNECTS):
            place = chance.randrange(len(held))
            freed = held[place].getsockname()[1]
            held[place].close()
            held[place] = connect()
            choices.append((freed, held[place].getsockname()[1]))
        for sock in held + accepted:
            sock.close()
        return implied(choices, taken)


def predicted(level: int) -> float:
    experiment = Experiment(low=LOW, high=HIGH, flows=(HIGH - LOW + 1) * level // 100, connects=CONNECTS)
    return summaries(run("6.18", experiment))["candidates"].mean


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--connects", type=int, default=1_000_000, help="of the speed run")
    million(parser.parse_args().connects)
    raise_file_limit()
    for level in LEVELS:
        model, kernel = predicted(level), live(level)
        print(
            f"{level:>3} %: predicted {model:8.2f}, implied by the live kernel {kernel:8.2f}: {model / kernel - 1:+.1%}"
        )


if __name__ == "__main__":
    main()
