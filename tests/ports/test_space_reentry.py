"""A space that a finaliser uses while it grows: the collector may run wherever objects are made."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator

import pytest

from fourtuple.ports.space import How, Loan, PortSpace


class Cycle:
    """Holds a port in a reference cycle, and gives it back when it is collected."""

    def __init__(self, space: PortSpace, port: int) -> None:
        self.space = space
        self.port = port
        self.me = self

    def __del__(self) -> None:
        assert self.space.release(self.port, How.TIME_WAIT, 0.0)


class Greedy:
    """In a reference cycle; adopts ports when it is collected, and tells which it got."""

    def __init__(self, space: PortSpace, ports: range, got: list[int]) -> None:
        self.space = space
        self.ports = ports
        self.got = got
        self.me = self

    def __del__(self) -> None:
        self.got += filter(self.space.adopt, self.ports)


@pytest.fixture
def eager_collector() -> Generator[None, None, None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.collect()


def taken(space: PortSpace) -> int:
    return space.take(0.0)


def adopted(space: PortSpace) -> int:
    port = 15000 + space.leased + space.cooling
    assert space.adopt(port)
    return port


@pytest.mark.usefixtures("eager_collector")
@pytest.mark.parametrize("threshold", range(3, 23))
@pytest.mark.parametrize("get", [taken, adopted])
def test_a_finaliser_that_releases_while_the_space_grows_spoils_nothing(
    threshold: int, get: Callable[[PortSpace], int]
) -> None:
    space = PortSpace(10000, 19999)
    gc.set_threshold(threshold, 1, 1)
    for _ in range(600):
        Cycle(space, get(space))
    gc.set_threshold(700, 10, 10)
    gc.collect()
    assert sum(space.census()) == 10000
    every = list(iter(lambda: space.take(1e9), 0))
    assert sorted(every) == list(range(10000, 20000))


@pytest.mark.usefixtures("eager_collector")
@pytest.mark.parametrize("threshold", range(3, 23))
@pytest.mark.parametrize("get", [taken, adopted])
@pytest.mark.parametrize("more", [64, 300], ids=["to-the-brim", "far"])
def test_a_finaliser_that_fills_the_space_while_it_grows_spoils_nothing(
    threshold: int, get: Callable[[PortSpace], int], more: int
) -> None:
    space = PortSpace(10000, 19999)
    every = [space.take(0.0) for _ in range(64)]
    got: list[int] = []
    Greedy(space, range(19000, 19000 + more), got)
    gc.set_threshold(threshold, 1, 1)
    every.append(get(space))
    gc.set_threshold(700, 10, 10)
    gc.collect()
    assert len(got) == more
    every += got
    assert space.leased == len(every)
    every += iter(lambda: space.take(0.0), 0)
    assert sorted(every) == list(range(10000, 20000))


@pytest.mark.usefixtures("eager_collector")
@pytest.mark.parametrize("threshold", range(3, 23))
def test_a_port_that_a_finaliser_adopts_meanwhile_is_leased_once(threshold: int) -> None:
    space = PortSpace(10000, 19999)
    for _ in range(64):
        space.take(0.0)
    got: list[int] = []
    Greedy(space, range(19000, 19001), got)
    gc.set_threshold(threshold, 1, 1)
    ours = space.adopt(19000)
    gc.set_threshold(700, 10, 10)
    gc.collect()
    assert got == ([] if ours else [19000])
    assert space.leased == 65
    assert space.release(19000, How.FREED, 0.0)
    assert not space.release(19000, How.FREED, 0.0)


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
