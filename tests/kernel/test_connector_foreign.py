"""Ports that another process holds towards the same destination."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from fourtuple.errors import PortsExhausted
from fourtuple.ports import Connector, Limits
from kernel.servers import Clock, NewConnector, Server, census, counts, port_of, states_towards, until

SIZE = 1000
HELD = SIZE // 2
pytestmark = pytest.mark.port_range(10000, 10000 + SIZE - 1)

HOLDER = """
import socket, struct, sys
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
held = []
for _ in range(count):
    sock = socket.create_connection((host, port))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    held.append(sock)
print("holding", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process_holding(server: Server, count: int) -> Generator[None, None, None]:
    """A process with that many connections; when the block ends they are reset."""
    command = [sys.executable, "-c", HOLDER, *map(str, server.address), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        held = set(states_towards())
        yield
        process.stdin.close()
        assert process.wait() == 0
    until(lambda: not held & set(states_towards()))


def connect(connector: Connector, server: Server, count: int, stack: ExitStack) -> set[int]:
    return {port_of(stack.enter_context(connector.create_connection(server.address))) for _ in range(count)}


def learn_all(connector: Connector, server: Server) -> None:
    """Ask for more until every foreign port is known; each call learns at most ``Limits.tries``."""
    while census(connector).free:
        with pytest.raises(PortsExhausted):
            connector.create_connection(server.address)


@pytest.mark.parametrize("strategy", ["range", "bind"])
def test_half_of_the_range_is_somebody_elses(
    new_connector: NewConnector, clock: Clock, server: Server, strategy: str
) -> None:
    connector = new_connector(strategy=strategy, clock=clock)
    with ExitStack() as stack:
        with another_process_holding(server, HELD):
            foreign = set(states_towards())
            ours = connect(connector, server, SIZE - HELD, stack)
            assert len(ours) == SIZE - HELD
            assert not ours & foreign
            # Each refusal taught a port of its own, and cost one retry.
            assert counts(connector).refused == census(connector).foreign > HELD // 2
            assert counts(connector).leases + counts(connector).kernel_choices == len(ours) + counts(connector).refused

            learn_all(connector, server)
            assert counts(connector).refused == HELD
            with pytest.raises(PortsExhausted, match=r"500 held by others.*ss -tanp dst 127\.0\.0\.1:5000") as raised:
                connector.create_connection(server.address)
            assert (raised.value.shortage.leased, raised.value.shortage.foreign) == (SIZE - HELD, HELD)
            # Known, they are not asked for again.
            assert counts(connector).refused == HELD

        # Once it let go, the ports come back when their retry is due: 1/8 s after a first refusal.
        clock.turn(0.125)
        assert connect(connector, server, HELD, stack) == foreign
        assert census(connector) == (0, SIZE, 0, 0, 0)
        assert counts(connector).refused == HELD


def test_a_port_held_for_long_costs_ever_fewer_tries(connector: Connector, clock: Clock, server: Server) -> None:
    with ExitStack() as stack, another_process_holding(server, HELD):
        connect(connector, server, SIZE - HELD, stack)
        learn_all(connector, server)
        asked: list[int] = []
        for doublings in range(10):
            clock.turn(0.125 * 2**doublings)
            before = counts(connector).refused
            # Eight calls of 64 tries ask for each of the 500 once.
            for _ in range(8):
                with pytest.raises(PortsExhausted):
                    connector.create_connection(server.address)
            asked.append(counts(connector).refused - before)
        assert asked == [HELD] * 10
        # 64 s by now, and no longer.
        clock.turn(63.9)
        with pytest.raises(PortsExhausted):
            connector.create_connection(server.address)
        assert counts(connector).refused == HELD * 11


def test_after_its_tries_a_connection_is_left_to_the_kernel(
    new_connector: NewConnector, clock: Clock, server: Server
) -> None:
    connector = new_connector(clock=clock, limits=Limits(tries=1))
    with ExitStack() as stack, another_process_holding(server, HELD):
        ours = connect(connector, server, SIZE - HELD, stack)
        assert len(ours) == SIZE - HELD
        assert not ours & (set(states_towards()) - ours)
        done = counts(connector)
        assert done.kernel_choices == done.refused > 0
        assert census(connector).leased == SIZE - HELD


def test_two_connectors_learn_each_others_ports(new_connector: NewConnector, clock: Clock, server: Server) -> None:
    one, other = new_connector(clock=clock), new_connector(clock=clock)
    with ExitStack() as stack:
        ours = connect(one, server, HELD, stack)
        theirs = connect(other, server, SIZE - HELD, stack)
        assert ours | theirs == set(range(10000, 10000 + SIZE))
        learn_all(one, server)
        learn_all(other, server)
        assert census(one).foreign == census(other).foreign == HELD


@pytest.mark.parametrize("strategy", ["range", "bind"])
def test_the_few_ports_of_others_are_tried_in_place_of_a_search_through_all(
    new_connector: NewConnector, clock: Clock, server: Server, strategy: str
) -> None:
    connector = new_connector(clock=clock, strategy=strategy)
    with ExitStack() as stack:
        with another_process_holding(server, 40):
            connect(connector, server, SIZE - 40, stack)
            before = counts(connector)
            with pytest.raises(PortsExhausted) as raised:
                connector.create_connection(server.address)
            after = counts(connector)
            assert (raised.value.shortage.leased, raised.value.shortage.foreign) == (SIZE - 40, 40)
            assert after.refused - before.refused >= 40
        # No retry is due while the clock stands still; that they are free is found all the same.
        connect(connector, server, 40, stack)
        assert counts(connector).kernel_choices == 0
