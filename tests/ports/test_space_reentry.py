"""A space that a finaliser uses while it grows: the collector may run wherever objects are made."""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest

from fourtuple.ports.space import How, Loan, PortSpace


class Cycle:
    """Holds a port in a reference cycle, and gives it back when it is collected."""

    def __init__(self, space: PortSpace) -> None:
        self.space = space
        self.port = space.take(0.0)
        self.me = self

    def __del__(self) -> None:
        assert self.space.release(self.port, How.TIME_WAIT, 0.0)


@pytest.fixture
def eager_collector() -> Generator[None, None, None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.collect()


@pytest.mark.usefixtures("eager_collector")
@pytest.mark.parametrize("threshold", range(3, 23))
def test_a_finaliser_that_releases_while_the_space_grows_spoils_nothing(threshold: int) -> None:
    space = PortSpace(10000, 19999)
    gc.set_threshold(threshold, 1, 1)
    for _ in range(600):
        Cycle(space)
    gc.set_threshold(700, 10, 10)
    gc.collect()
    assert sum(space.census()) == 10000
    taken = list(iter(lambda: space.take(1e9), 0))
    assert sorted(taken) == list(range(10000, 20000))


def test_a_loan_ends_once() -> None:
    space = PortSpace(10000, 10000)
    first, second = Loan(), Loan()
    assert space.lend(first, 0.0)
    assert not space.lend(second, 0.0)
    assert space.end(first, How.FREED, 0.0)
    assert space.lend(second, 0.0)
    assert not space.end(first, How.FREED, 0.0), "the port is the second's by now"
    assert space.census().leased == 1
    assert first.port == second.port == 10000
