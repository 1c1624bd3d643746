"""The port space against a model: random interleavings of every call, a million cycles among them."""

import random
from collections import Counter
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from fourtuple.ports.space import How, PortSpace, Reason, coprime_stride
from support.cores import CORES

LOW = 20000
DELAY, TIME_WAIT = 1.0, 60.0


class SpaceMachine(RuleBasedStateMachine):
    """Each call on a space and on a plain dict of what every port is; ``core`` and ``cycles`` are set by the test."""

    core: ModuleType
    cycles: Counter[str]

    @initialize(size=st.integers(1, 300), seed=st.integers(0, 2**32), excluded=st.sets(st.integers(0, 299)))
    def begin(self, size: int, seed: int, excluded: set[int]) -> None:
        rng = random.Random(seed)
        bits = bytearray(8192)
        for port in {LOW + place for place in excluded if place < size}:
            bits[port >> 3] |= 1 << (port & 7)
        self.space: PortSpace = self.core.PortSpace(
            LOW,
            LOW + size - 1,
            excluded=bytes(bits),
            reuse_delay=DELAY,
            time_wait=TIME_WAIT,
            start=rng.randrange(size),
            stride=coprime_stride(size, rng.randrange(size)),
        )
        self.now = 1000.0
        self.size = size
        self.excluded = {LOW + place for place in excluded if place < size}
        self.leased: set[int] = set()
        self.cooling: dict[int, float] = {}
        self.foreign: set[int] = set()
        self.rested: set[int] = set()  # gone to TIME_WAIT when they came back last, and not refused since
        self.used: set[int] = set()

    def took(self, port: int) -> None:
        assert port not in self.leased, f"port {port} is in two hands"
        assert port not in self.excluded
        assert self.cooling.pop(port, 0.0) <= self.now, f"port {port} was still cooling"
        self.holds(port)

    def holds(self, port: int) -> None:
        self.foreign.discard(port)
        self.leased.add(port)
        self.used.add(port)

    def gave(self, port: int, how: How) -> None:
        self.leased.remove(port)
        self.rested.discard(port)
        if how is How.DETACHED:
            self.foreign.add(port)
        elif how is not How.FREED:
            self.cooling[port] = self.now + (DELAY if how is How.TIME_WAIT else TIME_WAIT)
            self.rested.add(port)

    def refused(self, port: int) -> None:
        self.leased.remove(port)
        if port in self.rested:
            self.rested.remove(port)
            self.cooling[port] = self.now + TIME_WAIT
        else:
            self.foreign.add(port)

    def tries_to_adopt(self, port: int) -> bool:
        ours = LOW <= port < LOW + self.size and port not in self.leased | self.excluded
        assert self.space.adopt(port) == ours
        if ours:
            self.cooling.pop(port, None)
            self.holds(port)
        return ours

    @rule()
    def take(self) -> None:
        port = self.space.take(self.now)
        if port:
            self.took(port)
        else:
            known_free = self.size - len(self.excluded | self.leased | self.foreign | set(self.cooling))
            assert known_free == 0
            # At most two ports a call leave a cooling queue, which is enough to find one that is due.
            assert all(due > self.now for due in self.cooling.values())

    @rule(data=st.data(), how=st.sampled_from(How))
    def release(self, data: st.DataObject, how: How) -> None:
        if self.leased:
            port = data.draw(st.sampled_from(sorted(self.leased)))
            assert self.space.release(port, how, self.now)
            self.gave(port, how)

    @rule(data=st.data(), reason=st.sampled_from(Reason))
    def reject(self, data: st.DataObject, reason: Reason) -> None:
        if self.leased:
            port = data.draw(st.sampled_from(sorted(self.leased)))
            assert self.space.reject(port, reason, self.now)
            if reason is Reason.OUTSIDE:
                self.leased.remove(port)
                self.excluded.add(port)
            else:
                self.refused(port)

    @rule(place=st.integers(-2, 301))
    def adopt(self, place: int) -> None:
        self.tries_to_adopt(LOW + place)

    @rule(place=st.integers(-2, 301))
    def give_back_what_is_not_leased(self, place: int) -> None:
        port = LOW + place
        if port not in self.leased:
            assert not self.space.release(port, How.FREED, self.now)
            assert not self.space.reject(port, Reason.TAKEN, self.now)

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.125, 0.5, 1.0, 59.0, 61.0, 1e4]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(seed=st.integers(0, 2**32))
    def churn(self, seed: int) -> None:
        # A long random interleaving in one step, so that a million cycles take no million steps of hypothesis.
        rng = random.Random(seed)
        holding = sorted(self.leased)
        for _ in range(5000):
            if holding and rng.random() < 0.5:
                place = rng.randrange(len(holding))
                port, holding[place] = holding[place], holding[-1]
                holding.pop()
                if rng.random() < 0.05:
                    assert self.space.reject(port, Reason.TAKEN, self.now)
                    self.refused(port)
                    continue
                how = rng.choice((How.FREED, How.FREED, How.TIME_WAIT, How.DETACHED))
                assert self.space.release(port, how, self.now)
                self.gave(port, how)
                self.cycles["released"] += 1
            elif rng.random() < 0.05:
                if self.tries_to_adopt(port := LOW + rng.randrange(self.size)):
                    holding.append(port)
            elif port := self.space.take(self.now):
                self.took(port)
                holding.append(port)
            self.now += rng.random() / 50

    @rule(shift=st.integers(-50, 50), seed=st.integers(0, 2**32))
    def reshape(self, shift: int, seed: int) -> None:
        # There and back: what falls out of the range in between is forgotten.
        rng = random.Random(seed)
        low, high = LOW + shift, LOW + shift + self.size - 1
        for bounds in ((low, high), (LOW, LOW + self.size - 1)):
            bits = bytearray(8192)
            for port in self.excluded:
                bits[port >> 3] |= 1 << (port & 7)
            self.space = self.space.reshaped(
                *bounds,
                excluded=bytes(bits),
                reuse_delay=DELAY,
                start=rng.randrange(self.size),
                stride=coprime_stride(self.size, rng.randrange(self.size)),
            )
        kept = set(range(max(low, LOW), min(high, LOW + self.size - 1) + 1))
        self.leased &= kept
        self.foreign &= kept
        self.rested &= kept
        self.used &= kept
        self.cooling = {port: due for port, due in self.cooling.items() if port in kept}

    @invariant()
    def no_port_is_lost(self) -> None:
        census = self.space.census()
        assert sum(census) == self.size
        assert census.leased == len(self.leased)
        assert census.foreign == len(self.foreign)
        assert census.excluded == len(self.excluded)
        # Ports that are due count as cooling until a take() has moved them.
        assert census.cooling <= len(self.cooling)
        assert census.cooling >= sum(due > self.now for due in self.cooling.values())

    @invariant()
    def memory_follows_use(self) -> None:
        assert self.space.memory <= 20 * min(self.size, max(16, 2 * len(self.used))) + 100


@pytest.mark.parametrize(("name", "examples"), [("installed", 300), ("uncompiled", 30)])
def test_no_port_is_in_two_hands_and_none_is_lost(name: str, examples: int):
    cycles = Counter[str]()

    class Machine(SpaceMachine):
        pass

    Machine.core, Machine.cycles = CORES[name], cycles
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
    if name == "installed":
        assert cycles["released"] >= 1_000_000, cycles
