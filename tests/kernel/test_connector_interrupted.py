"""A signal handler, a finaliser or Ctrl-C in the middle of a connection: at each line of ours that it runs through.

The lines of the core are left out: compiled, it has none.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import fourtuple
from fourtuple.ports import Connector
from fourtuple.ports.registry import SpaceRegistry
from kernel.servers import Clock, Server, leased, port_of, reset

PACKAGE = fourtuple.__path__[0]
CORE = "/space.py"


class Interruption:
    """Calls ``action`` once, before the ``line``-th line of ours that is run from then on."""

    def __init__(self, line: int, action: Callable[[], None]) -> None:
        self._left = line
        self._action = action

    def __enter__(self) -> None:
        sys.settrace(self._trace)

    def __exit__(self, *exception: object) -> None:
        sys.settrace(None)

    @property
    def happened(self) -> bool:
        """Whether there was such a line."""
        return self._left < 0

    def _trace(self, frame: FrameType, event: str, _: object) -> Any:
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE) or file.endswith(CORE):
            return None
        if event == "line":
            self._left -= 1
            if self._left == -1:
                # Python traces nothing while it runs a trace function, so the action is not interrupted in turn.
                self._action()
        return self._trace


def at_every_line(run: Callable[[], None], action: Callable[[], None]) -> int:
    """Run again and again, interrupted a line later each time; how many lines there are."""
    # What only a first time does would end the count too soon.
    run()
    line = 0
    while True:
        interruption = Interruption(line, action)
        with interruption:
            run()
        if not interruption.happened:
            return line
        line += 1


def test_a_handler_connects_and_closes(connector: Connector, clock: Clock, server: Server) -> None:
    def cycle() -> None:
        clock.turn(1)
        reset(connector.create_connection(server.address))

    lines = at_every_line(cycle, lambda: reset(connector.create_connection(server.address)))
    assert lines > 50
    (space,) = connector.statistics().spaces
    assert space.ports == (20000, 0, 0, 0, 0)


def test_a_handler_connects_and_keeps(connector: Connector, server: Server) -> None:
    kept = [connector.create_connection(server.address)]
    at_every_line(
        lambda: kept.append(connector.create_connection(server.address)),
        lambda: kept.append(connector.create_connection(server.address)),
    )
    assert len({port_of(sock) for sock in kept}) == len(kept) == leased(connector)
    reset(*kept)


def test_a_handler_closes_what_is_open(connector: Connector, clock: Clock, server: Server) -> None:
    held = [connector.create_connection(server.address) for _ in range(500)]

    def cycle() -> None:
        clock.turn(1)
        reset(connector.create_connection(server.address))

    at_every_line(cycle, lambda: reset(held.pop()))
    assert leased(connector) == len(held)
    reset(*held)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # an interrupt in a finaliser is one
@pytest.mark.usefixtures("netns")
def test_ctrl_c_loses_no_port(clock: Clock) -> None:
    connector = Connector(registry=SpaceRegistry(clock=clock))

    def interrupt() -> None:
        raise KeyboardInterrupt

    def cycle() -> None:
        try:
            sock = connector.create_connection(server.address)
        except KeyboardInterrupt:
            return
        try:
            reset(sock)
        except KeyboardInterrupt:
            sock.close()

    with Server() as server, warnings.catch_warnings():
        # Between the making of a socket and the block that closes it nobody else can.
        warnings.simplefilter("ignore", ResourceWarning)
        at_every_line(cycle, interrupt)
        gc.collect()
    assert leased(connector) == 0
