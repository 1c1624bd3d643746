"""The port space: states, order, waiting times, reshaping. The state machine is in test_space_machine.py."""

import math
import random
import tracemalloc
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.ports.space import How, PortSpace, Reason, coprime_stride
from support.cores import CORES

LOW, HIGH = 10000, 10099


@pytest.fixture(params=CORES)
def core(request: pytest.FixtureRequest) -> ModuleType:
    return CORES[request.param]


@pytest.fixture
def space(core: ModuleType) -> PortSpace:
    return core.PortSpace(LOW, HIGH, reuse_delay=1.0, time_wait=60.0, start=17, stride=7)


def bitmap(*ports: int) -> bytes:
    bits = bytearray(8192)
    for port in ports:
        bits[port >> 3] |= 1 << (port & 7)
    return bytes(bits)


def take_all(space: PortSpace, now: float = 0.0) -> list[int]:
    return list(iter(lambda: space.take(now), 0))


def test_the_installed_core_is_compiled():
    assert CORES["installed"].__file__ is not None
    assert not CORES["installed"].__file__.endswith(".py"), "build the package: make test does"


def test_every_port_is_given_out_once_and_then_port_0(space: PortSpace):
    taken = take_all(space)
    assert sorted(taken) == list(range(LOW, HIGH + 1))
    assert space.take(0.0) == 0
    assert space.census() == (0, 100, 0, 0, 0)


def test_ports_are_first_used_in_the_order_of_start_and_stride(space: PortSpace):
    assert [space.take(0.0) for _ in range(3)] == [LOW + 17, LOW + 24, LOW + 31]


def test_the_longest_free_port_goes_first(space: PortSpace):
    taken = take_all(space)
    back = [taken[50], taken[3], taken[99]]
    for port in back:
        space.release(port, How.FREED, 1.0)
    assert take_all(space, 1.0) == back


def test_unused_ports_go_before_ports_given_back(space: PortSpace):
    first = space.take(0.0)
    space.release(first, How.FREED, 0.0)
    assert first not in [space.take(0.0) for _ in range(99)]
    assert space.take(0.0) == first


def test_time_wait_rests_for_the_reuse_delay(space: PortSpace):
    port = take_all(space)[0]
    space.release(port, How.TIME_WAIT, 10.0)
    assert space.census().cooling == 1
    assert space.next_free(10.25) == pytest.approx(0.75)
    assert space.take(10.99) == 0
    assert space.take(11.0) == port
    assert space.next_free(11.0) is None


def test_time_wait_without_timestamps_rests_for_all_of_it(space: PortSpace):
    port = take_all(space)[0]
    space.release(port, How.TIME_WAIT_KEPT, 10.0)
    assert space.take(69.9) == 0
    assert space.next_free(69.9) == pytest.approx(0.1)
    assert space.take(70.0) == port


def test_a_reuse_delay_of_0_frees_at_once(core: ModuleType):
    space = core.PortSpace(LOW, LOW, reuse_delay=0.0)
    port = space.take(0.0)
    space.release(port, How.TIME_WAIT, 0.0)
    assert space.census().free == 1
    assert space.take(0.0) == port


def test_next_free_tells_the_soonest_and_never_less_than_0(space: PortSpace):
    a, b, *_ = take_all(space)
    space.release(a, How.TIME_WAIT_KEPT, 0.0)
    space.release(b, How.TIME_WAIT, 50.0)
    assert space.next_free(50.0) == 1.0
    assert space.next_free(1000.0) == 0.0


def test_due_ports_leave_both_cooling_queues_twice_as_fast_as_take_uses_them(core: ModuleType):
    space = core.PortSpace(LOW, LOW + 999, reuse_delay=1.0, time_wait=2.0)
    taken = [space.take(0.0) for _ in range(200)]
    for place, port in enumerate(taken):
        space.release(port, (How.TIME_WAIT, How.TIME_WAIT_KEPT)[place % 2], 0.0)
    for done in range(1, 51):
        assert space.take(2.0)
        assert space.census().cooling == 200 - 4 * done


def test_a_refused_port_is_retried_with_doubled_waits_only_when_nothing_is_free(core: ModuleType):
    space = core.PortSpace(LOW, LOW + 1)
    port = space.take(0.0)
    space.reject(port, Reason.TAKEN, 0.0)
    other = space.take(100.0)
    assert other != port, "while another port is free, the refused one is not tried"
    now, waits = 0.0, list[float]()
    for _ in range(12):
        wait = next(w for w in (0.125 * 2**n for n in range(11)) if space.take(now + w) == port)
        assert space.take(now + wait) == 0
        now += wait
        waits.append(wait)
        space.reject(port, Reason.TAKEN, now)
    assert waits == [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 64, 64]
    assert space.census() == (0, 1, 0, 1, 0)


def test_a_refused_port_that_served_again_starts_from_the_shortest_wait(core: ModuleType):
    space = core.PortSpace(LOW, LOW)
    now = 0.0
    for _ in range(5):
        assert space.take(now) == LOW
        space.reject(LOW, Reason.TAKEN, now)
        now += 100
    assert space.take(now) == LOW
    space.release(LOW, How.FREED, now)
    assert space.take(now) == LOW
    space.reject(LOW, Reason.TAKEN, now)
    assert space.take(now + 0.125) == LOW


@pytest.mark.parametrize(
    ("how", "delay", "rest"),
    [(How.TIME_WAIT, 1.0, 1.0), (How.TIME_WAIT, 0.0, 0.0), (How.TIME_WAIT_KEPT, 1.0, 60.0)],
)
def test_a_port_refused_after_its_time_wait_is_ours_in_fin_wait2_and_cools_once_more(
    core: ModuleType, how: How, delay: float, rest: float
):
    space = core.PortSpace(LOW, LOW, reuse_delay=delay)
    space.take(0.0)
    space.release(LOW, how, 100.0)
    now = 100.0 + rest
    assert space.take(now) == LOW
    space.reject(LOW, Reason.TAKEN, now)
    assert space.census() == (0, 0, 1, 0, 0)
    assert space.next_free(now) == 60.0
    assert space.take(now + 59.9) == 0
    assert space.take(now + 60.0) == LOW
    space.reject(LOW, Reason.TAKEN, now + 60.0)
    assert space.census() == (0, 0, 0, 1, 0)
    assert space.take(now + 60.125) == LOW, "a foreign port starts from the shortest wait"


@pytest.mark.parametrize("how", [How.FREED, How.DETACHED])
def test_a_port_refused_after_another_release_is_foreign(core: ModuleType, how: How):
    space = core.PortSpace(LOW, LOW)
    for last in (How.TIME_WAIT, how):
        assert space.take(100.0) == LOW
        space.release(LOW, last, 0.0)
    assert space.take(100.0) == LOW
    space.reject(LOW, Reason.TAKEN, 100.0)
    assert space.census() == (0, 0, 0, 1, 0)


def test_ports_cool_in_the_order_of_their_releases_and_refusals(core: ModuleType):
    space = core.PortSpace(LOW, LOW + 3, reuse_delay=1.0)
    first, second, third, fourth = take_all(space)
    space.release(first, How.TIME_WAIT_KEPT, 0.0)
    space.release(second, How.TIME_WAIT, 0.0)
    assert space.take(1.0) == second
    space.reject(second, Reason.TAKEN, 1.0)
    space.release(third, How.TIME_WAIT_KEPT, 2.0)
    space.release(fourth, How.TIME_WAIT, 2.0)
    due = {3.0: fourth, 60.0: first, 61.0: second, 62.0: third}
    for now, port in due.items():
        assert space.take(now - 0.1) == 0
        assert space.take(now) == port


def test_a_detached_port_is_tried_at_once_but_last(core: ModuleType):
    space = core.PortSpace(LOW, LOW + 1)
    gone = space.take(0.0)
    space.release(gone, How.DETACHED, 0.0)
    assert space.census().foreign == 1
    assert space.take(0.0) != gone
    assert space.take(0.0) == gone


def test_a_port_outside_the_range_is_never_proposed_again(space: PortSpace):
    port = space.take(0.0)
    space.reject(port, Reason.OUTSIDE, 0.0)
    assert space.census().excluded == 1
    assert port not in take_all(space, 1e6)


def test_excluded_ports_are_never_given_out(core: ModuleType):
    reserved = bitmap(9999, LOW, *range(LOW + 10, HIGH), HIGH + 1)
    space = core.PortSpace(LOW, HIGH, excluded=reserved, stride=3)
    assert space.census() == (10, 0, 0, 0, 90)
    assert sorted(take_all(space)) == [*range(LOW + 1, LOW + 10), HIGH]
    assert space.census() == (0, 10, 0, 0, 90)
    assert not space.adopt(LOW + 20)


def test_a_bitmap_shorter_than_the_range_ends_in_zeros(core: ModuleType):
    space = core.PortSpace(1, 65535, excluded=b"\xff")
    assert space.census().excluded == 7
    assert space.census().free == 65535 - 7


def test_the_kernels_choice_is_adopted_from_every_state_it_can_be_in(space: PortSpace):
    a, b, c, d = (space.take(0.0) for _ in range(4))
    space.release(a, How.FREED, 0.0)
    space.release(b, How.TIME_WAIT, 0.0)
    space.reject(c, Reason.TAKEN, 0.0)
    unused = LOW + 99
    for port in (a, b, c, unused):
        assert space.adopt(port)
    assert not space.adopt(d), "it is leased"
    assert not space.adopt(LOW - 1)
    assert not space.adopt(HIGH + 1)
    assert space.census() == (95, 5, 0, 0, 0)
    assert not {a, b, c, d, unused} & set(take_all(space, 1e6))


def test_only_leases_can_be_given_back(space: PortSpace):
    port = space.take(0.0)
    assert space.release(port, How.FREED, 0.0)
    before = space.census()
    for other in (port, LOW - 1, HIGH + 1, 0, 65535, LOW + 99):
        assert not space.release(other, How.FREED, 0.0)
        assert not space.reject(other, Reason.TAKEN, 0.0)
    assert space.census() == before


def test_a_little_used_space_is_small_and_memory_is_as_documented(core: ModuleType):
    space = core.PortSpace(32768, 60999, stride=9973)
    for _ in range(64):
        space.take(0.0)
    assert space.memory == pytest.approx(1.3 * 1024, rel=0.02)
    take_all(space)
    assert space.memory == pytest.approx(551 * 1024, rel=0.01)


def test_one_port_that_the_kernel_chose_takes_no_more_memory_than_one_of_ours(core: ModuleType):
    for port in (1, 33333, 65000):
        space = core.PortSpace(1, 65000, start=12345, stride=coprime_stride(65000, 54321))
        assert space.adopt(port)
        assert space.memory < 2048


def test_memory_grows_with_the_ports_that_the_kernel_chose(core: ModuleType):
    space = core.PortSpace(1, 65000, start=12345, stride=coprime_stride(65000, 54321))
    for done, port in enumerate(random.Random(1).sample(range(1, 65001), 3000), 1):
        assert space.adopt(port)
        assert space.memory <= 20 * max(16, 2 * done) + 100
    new = space.reshaped(1, 65000, excluded=b"", reuse_delay=1.0, start=0, stride=1)
    assert new.census().leased == 3000
    assert new.memory == space.memory


def test_reserved_ports_that_are_passed_over_take_no_memory(core: ModuleType):
    space = core.PortSpace(1, 65000, excluded=bitmap(*range(1, 64951)))
    assert take_all(space) == list(range(64951, 65001))
    assert space.memory < 2048


def test_memory_tells_what_the_arrays_take(core: ModuleType):
    nothing = bitmap()
    tracemalloc.start()
    try:
        space = core.PortSpace(32768, 60999, excluded=nothing)
        while space.take(0.0):
            pass
        allocated, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert allocated == pytest.approx(space.memory, rel=0.02)


def test_adopting_far_ahead_keeps_what_lies_between_unused(core: ModuleType):
    space = core.PortSpace(LOW, LOW + 999)
    assert space.adopt(LOW + 998)
    assert sorted(take_all(space)) == [*range(LOW, LOW + 998), LOW + 999]


def test_the_last_resort_is_what_others_hold_once_nothing_else_is_left(space: PortSpace):
    ports = take_all(space)
    assert space.last_resort(0) == []
    for port in ports[:3]:
        space.reject(port, Reason.TAKEN, 0.0)
    assert space.last_resort(2) is None
    assert sorted(space.last_resort(3) or []) == sorted(ports[:3])
    space.release(ports[3], How.TIME_WAIT, 0.0)
    assert space.last_resort(9) is None, "a cooling port would be pushed back"
    space.take(2.0)
    space.release(ports[4], How.FREED, 2.0)
    assert space.last_resort(9) is None, "a port is free"


def test_reshaping_keeps_what_is_known_of_ports_in_both_ranges(space: PortSpace):
    taken = [space.take(0.0) for _ in range(50)]
    leased = taken[:10]
    for port in taken[10:20]:
        space.release(port, How.TIME_WAIT, 5.0)
    for port in taken[20:30]:
        space.reject(port, Reason.TAKEN, 5.0)
    free = taken[30:]
    for port in free:
        space.release(port, How.FREED, 5.0)
    new = space.reshaped(LOW + 50, HIGH + 50, excluded=bitmap(HIGH + 1), reuse_delay=1.0, start=3, stride=1)

    def within(ports: list[int]) -> set[int]:
        return {port for port in ports if port >= LOW + 50}

    assert new.census() == (
        100 - 1 - len(within(leased)) - len(within(taken[10:20])) - len(within(taken[20:30])),
        len(within(leased)),
        len(within(taken[10:20])),
        len(within(taken[20:30])),
        1,
    )
    for port in leased:
        assert new.release(port, How.FREED, 5.0) == (port in within(leased))
    order = take_all(new, 5.5)
    assert [port for port in order if port in set(free)] == [port for port in free if port in within(free)]
    assert HIGH + 1 not in order
    assert not within(taken[10:20]) & set(order)
    assert set(take_all(new, 6.0)) >= within(taken[10:20])


def test_reshaping_remembers_whose_time_wait_it_was(core: ModuleType):
    space = core.PortSpace(LOW, LOW + 1)
    ours, theirs = take_all(space)
    space.release(ours, How.TIME_WAIT, 0.0)
    space.release(theirs, How.FREED, 0.0)
    new = space.reshaped(LOW, LOW + 1, excluded=b"", reuse_delay=1.0, start=0, stride=1)
    for port in take_all(new, 1.0):
        new.reject(port, Reason.TAKEN, 1.0)
    assert new.census() == (0, 0, 1, 1, 0)
    assert new.take(1.125) == theirs


def test_a_lease_that_fell_out_and_came_back_into_the_range_is_not_leased(space: PortSpace):
    # While it was outside nobody could tell the space that it ended.
    port = LOW + 17
    assert space.take(0.0) == port
    narrow = space.reshaped(LOW + 50, HIGH, excluded=b"", reuse_delay=1.0, start=0, stride=1)
    wide = narrow.reshaped(LOW, HIGH, excluded=b"", reuse_delay=1.0, start=0, stride=1)
    assert wide.census().leased == 0
    assert not wide.release(port, How.FREED, 0.0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"low": 0, "high": 10}, "low"),
        ({"low": 20, "high": 10}, "low, high"),
        ({"low": 1, "high": 65536}, "high"),
        ({"low": 1, "high": 10, "time_wait": -1.0}, "time_wait"),
        ({"low": 1, "high": 10, "time_wait": math.inf}, "time_wait"),
        ({"low": 1, "high": 10, "reuse_delay": math.nan}, "reuse_delay"),
        ({"low": 1, "high": 10, "start": 10}, "start"),
        ({"low": 1, "high": 10, "start": -1}, "start"),
        ({"low": 1, "high": 10, "stride": 5}, "stride"),
        ({"low": 1, "high": 10, "stride": 0}, "stride"),
    ],
)
def test_bad_arguments_are_named(core: ModuleType, arguments: dict[str, float], name: str):
    with pytest.raises(ValueError, match=name):
        core.PortSpace(**arguments)


@given(size=st.integers(1, 65535), seed=st.integers(0, 2**32))
def test_a_coprime_stride_is_always_found(size: int, seed: int):
    stride = coprime_stride(size, seed)
    assert 1 <= stride <= size
    assert math.gcd(stride, size) == 1


def test_a_stride_for_no_ports_is_refused():
    with pytest.raises(ValueError, match="size"):
        coprime_stride(0, 1)


@pytest.mark.parametrize("size", [1, 2, 3, 100, 28232, 65535])
def test_ranges_of_every_size_come_out_whole(core: ModuleType, size: int):
    rng = random.Random(size)
    space = core.PortSpace(
        65536 - size, 65535, start=rng.randrange(size), stride=coprime_stride(size, rng.randrange(size))
    )
    assert sorted(take_all(space)) == list(range(65536 - size, 65536))
