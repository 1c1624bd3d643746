"""A port space as threads and sockets share it: leases, limits, settings that change, forks, and threads."""

from __future__ import annotations

import contextlib
import itertools
import random
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from fourtuple.errors import PortsExhausted
from fourtuple.ports.settings import KEPT_FOR, SettingsCache
from fourtuple.ports.shared import Lease, SharedSpace
from fourtuple.ports.space import Census, How, Reason
from fourtuple.ports.statistics import Counts
from fourtuple.ports.timewait import TIME_WAIT, TwReuse
from ports.fakes import SETTINGS, Clock, Sysctls, take

SIZE = SETTINGS.high - SETTINGS.low + 1
ONE_PORT = replace(SETTINGS, high=SETTINGS.low)

ENDS: dict[str, Callable[[Lease], None]] = {
    "freed": lambda lease: lease.release(How.FREED),
    "time_wait": lambda lease: lease.release(How.TIME_WAIT),
    "time_wait_kept": lambda lease: lease.release(How.TIME_WAIT_KEPT),
    "detached": lambda lease: lease.release(How.DETACHED),
    "taken": lambda lease: lease.reject(Reason.TAKEN),
    "outside": lambda lease: lease.reject(Reason.OUTSIDE),
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sysctls() -> Sysctls:
    return Sysctls()


def make_space(
    clock: Callable[[], float],
    sysctls: Sysctls,
    *,
    source: str = "192.0.2.1",
    destination: str = "192.0.2.2",
    explicit_bind: bool = False,
    most: int | None = None,
) -> SharedSpace:
    return SharedSpace(
        source,
        destination,
        80,
        settings=SettingsCache(read=sysctls),
        explicit_bind=explicit_bind,
        most=most,
        clock=clock,
    )


@pytest.fixture
def space(clock: Clock, sysctls: Sysctls) -> SharedSpace:
    """A space of 100 ports in which none is used."""
    return make_space(clock, sysctls)


def census(space: SharedSpace) -> Census:
    return space.statistics().ports


# Leases.


def test_a_lease_that_is_dropped_gives_its_port_back_unseen(space: SharedSpace) -> None:
    lease = space.take()
    assert census(space) == Census(SIZE - 1, 1, 0, 0, 0)
    del lease
    assert census(space) == Census(SIZE - 1, 0, 0, 1, 0)


def test_each_lease_has_a_port_of_its_own(space: SharedSpace) -> None:
    ports = {take(space).port for _ in range(SIZE)}
    assert ports == set(range(SETTINGS.low, SETTINGS.high + 1))
    assert space.take() is None
    assert space.leased == SIZE
    assert space.counts == Counts(leases=SIZE)


@pytest.mark.parametrize("again", ENDS)
@pytest.mark.parametrize("first", ENDS)
def test_a_lease_ends_once(space: SharedSpace, first: str, again: str) -> None:
    lease = take(space)
    ENDS[first](lease)
    after = space.statistics()
    ENDS[again](lease)
    assert space.statistics() == after


def test_a_lease_that_ended_leaves_the_ports_next_holder_alone(clock: Clock) -> None:
    space = make_space(clock, Sysctls(ONE_PORT))
    former = take(space)
    former.release(How.FREED)
    holder = take(space)
    assert holder.port == former.port
    former.release(How.FREED)
    former.reject(Reason.TAKEN)
    assert space.leased == 1
    holder.release(How.FREED)
    assert space.leased == 0


@pytest.mark.parametrize(
    ("reason", "counts", "foreign", "excluded"),
    [
        (Reason.TAKEN, Counts(leases=1, refused=1), 1, 0),
        (Reason.OUTSIDE, Counts(leases=1, outside=1), 0, 1),
    ],
)
def test_refusals_are_counted_by_reason(
    space: SharedSpace, reason: Reason, counts: Counts, foreign: int, excluded: int
) -> None:
    take(space).reject(reason)
    assert space.counts == counts
    assert census(space) == Census(SIZE - 1, 0, 0, foreign, excluded)


def test_a_port_that_the_kernel_chose_is_leased(space: SharedSpace) -> None:
    lease = space.adopt(SETTINGS.low + 7)
    assert lease is not None
    assert lease.port == SETTINGS.low + 7
    assert space.leased == 1
    lease.release(How.FREED)
    assert space.leased == 0
    assert space.counts == Counts(kernel_choices=1)


def test_a_port_outside_is_counted_and_not_leased(space: SharedSpace) -> None:
    assert space.adopt(SETTINGS.high + 1) is None
    assert space.leased == 0
    assert space.counts == Counts(kernel_choices=1)


# What is left, and what is said when nothing is.


def test_a_limit_leaves_the_rest_to_others(clock: Clock, sysctls: Sysctls) -> None:
    space = make_space(clock, sysctls, most=3)
    leases = [take(space) for _ in range(3)]
    with pytest.raises(PortsExhausted) as raised:
        space.take()
    shortage = raised.value.shortage
    assert (shortage.leased, shortage.free, shortage.foreign) == (3, SIZE - 3, 0)
    assert raised.value.remedies[0] == f"raise Limits.ports: {SIZE - 3} ports are free above it"
    assert space.counts == Counts(leases=3, exhausted=1)
    leases[0].release(How.FREED)
    take(space)
    assert space.leased == 3


def test_the_kernels_no_makes_others_the_owners_of_what_seemed_free(space: SharedSpace) -> None:
    take(space)
    take(space).release(How.TIME_WAIT)
    take(space).reject(Reason.TAKEN)
    take(space).reject(Reason.OUTSIDE)
    error = space.exhausted()
    shortage = error.shortage
    assert (shortage.leased, shortage.cooling, shortage.foreign, shortage.excluded) == (1, 1, SIZE - 3, 1)
    assert shortage.free == 0
    assert "Limits" not in str(error)
    assert error.remedies[0] == f"find who holds the {SIZE - 3} other ports: ss -tanp dst 192.0.2.2:80"
    assert space.counts.exhausted == 1


@pytest.mark.parametrize(
    ("source", "destination", "texts"),
    [
        ("192.0.2.1", "192.0.2.2", ("192.0.2.1", "192.0.2.2:80")),
        ("", "2001:db8::2", ("this machine", "[2001:db8::2]:80")),
    ],
)
def test_the_error_names_both_ends_and_the_range(
    clock: Clock, sysctls: Sysctls, source: str, destination: str, texts: tuple[str, str]
) -> None:
    shortage = make_space(clock, sysctls, source=source, destination=destination).exhausted().shortage
    assert (shortage.source, shortage.destination) == texts
    assert (shortage.low, shortage.high) == (SETTINGS.low, SETTINGS.high)


def test_the_error_tells_when_the_next_port_frees(clock: Clock, space: SharedSpace) -> None:
    assert space.exhausted().shortage.next_free is None
    take(space).release(How.TIME_WAIT_KEPT)
    clock.now += 20.0
    take(space).release(How.TIME_WAIT_KEPT)
    assert space.exhausted().shortage.next_free == TIME_WAIT - 20.0


# Time.


@pytest.mark.parametrize(
    ("changes", "source", "destination", "explicit_bind", "wait"),
    [
        ({}, "192.0.2.1", "192.0.2.2", False, 1.05),
        ({"tw_reuse_delay": 0.2}, "192.0.2.1", "192.0.2.2", False, 0.25),
        ({"tw_reuse": TwReuse.OFF}, "127.0.0.1", "127.0.0.1", False, TIME_WAIT),
        ({"tw_reuse": TwReuse.LOOPBACK}, "192.0.2.1", "192.0.2.2", False, TIME_WAIT),
        ({"tw_reuse": TwReuse.LOOPBACK}, "127.0.0.1", "192.0.2.2", False, 1.05),
        ({"tw_reuse": TwReuse.LOOPBACK}, "", "::1", False, 1.05),
        ({"timestamps": False}, "192.0.2.1", "192.0.2.2", True, TIME_WAIT),
        ({"tw_reuse": TwReuse.OFF}, "192.0.2.1", "192.0.2.2", True, 0.0),
    ],
)
def test_time_wait_lasts_as_the_settings_and_both_ends_say(
    clock: Clock, changes: dict[str, object], source: str, destination: str, explicit_bind: bool, wait: float
) -> None:
    sysctls = Sysctls(replace(ONE_PORT, **changes))
    space = make_space(clock, sysctls, source=source, destination=destination, explicit_bind=explicit_bind)
    take(space).release(How.TIME_WAIT)
    released = clock.now
    if wait > 0.0:
        clock.now = released + wait - 0.01
        assert space.take() is None
    clock.now = released + wait + 0.01
    take(space)


@pytest.mark.parametrize("end", ENDS)
def test_a_space_is_idle_once_there_is_nothing_to_forget(clock: Clock, space: SharedSpace, end: str) -> None:
    assert space.idle
    lease = take(space)
    clock.now += 1000.0
    assert not space.idle
    ENDS[end](lease)
    # Whatever became of the port: it is free, or due for another try, when TIME_WAIT and the longest wait are over.
    clock.now += 64.0
    assert space.idle


@pytest.mark.parametrize("end", ENDS.keys() - {"freed", "outside"})
def test_a_space_that_remembers_something_is_not_idle(clock: Clock, space: SharedSpace, end: str) -> None:
    ENDS[end](take(space))
    clock.now += 0.5
    assert not space.idle


# Settings that change.


def test_a_changed_range_is_followed_and_leases_are_kept(clock: Clock, sysctls: Sysctls, space: SharedSpace) -> None:
    leases = [take(space) for _ in range(SIZE)]
    sysctls.settings = replace(SETTINGS, low=SETTINGS.low + 50, high=SETTINGS.high + 50)
    space.follow()
    kept = [lease for lease in leases if lease.port >= SETTINGS.low + 50]
    gone = [lease for lease in leases if lease.port < SETTINGS.low + 50]
    assert census(space) == Census(50, 50, 0, 0, 0)
    for lease in gone:
        lease.release(How.FREED)
    assert census(space) == Census(50, 50, 0, 0, 0)
    for lease in kept:
        lease.release(How.FREED)
    assert census(space) == Census(100, 0, 0, 0, 0)
    ports = {take(space).port for _ in range(SIZE)}
    assert ports == set(range(SETTINGS.low + 50, SETTINGS.high + 51))


def test_the_range_is_asked_for_when_the_last_reading_is_old(
    clock: Clock, sysctls: Sysctls, space: SharedSpace
) -> None:
    take(space)
    sysctls.settings = replace(SETTINGS, low=20_000, high=20_000)
    clock.now += KEPT_FOR - 0.01
    assert take(space).port <= SETTINGS.high
    clock.now += 0.02
    assert take(space).port == 20_000


def test_newly_reserved_ports_are_followed(sysctls: Sysctls, space: SharedSpace) -> None:
    reserved = sum(1 << port for port in range(SETTINGS.low, SETTINGS.high)).to_bytes(8192, "little")
    sysctls.settings = replace(SETTINGS, reserved=reserved)
    space.follow()
    assert census(space) == Census(1, 0, 0, 0, SIZE - 1)
    assert take(space).port == SETTINGS.high
    assert space.take() is None


def test_a_changed_delay_holds_for_what_is_released_after(clock: Clock) -> None:
    sysctls = Sysctls(ONE_PORT)
    space = make_space(clock, sysctls)
    lease = take(space)
    sysctls.settings = replace(ONE_PORT, tw_reuse=TwReuse.OFF)
    space.follow()
    lease.release(How.TIME_WAIT)
    clock.now += 2.0
    assert space.take() is None
    clock.now += TIME_WAIT
    take(space)


def test_what_was_counted_outlives_a_change(sysctls: Sysctls, space: SharedSpace) -> None:
    take(space).reject(Reason.TAKEN)
    sysctls.settings = replace(SETTINGS, high=SETTINGS.high + 1)
    space.follow()
    assert space.counts == Counts(leases=1, refused=1)
    assert census(space).foreign == 1


def test_every_port_is_reached_whatever_order_chance_gives(clock: Clock, sysctls: Sysctls) -> None:
    orders: set[tuple[int, ...]] = set()
    for _ in range(20):
        space = make_space(clock, sysctls)
        order = tuple(take(space).port for _ in range(SIZE))
        assert set(order) == set(range(SETTINGS.low, SETTINGS.high + 1))
        orders.add(order)
    assert len(orders) > 1


# Statistics.


def test_statistics_are_a_snapshot(space: SharedSpace) -> None:
    take(space)
    snapshot = space.statistics()
    take(space).release(How.TIME_WAIT)
    assert snapshot.ports == Census(SIZE - 1, 1, 0, 0, 0)
    assert snapshot.counts == Counts(leases=1)
    snapshot.counts.leases = 99
    assert space.counts.leases == 2


def test_statistics_name_both_ends_and_the_range(space: SharedSpace) -> None:
    found = space.statistics()
    assert (found.source, found.destination) == ("192.0.2.1", "192.0.2.2:80")
    assert (found.low, found.high) == (SETTINGS.low, SETTINGS.high)


# Threads. Without a limit only the compiled space serves several: uncompiled, it must stay with one.

THREADS = 8
CYCLES = 100_000
# All but "outside", after which a port does not come back.
WAYS_BACK = [end for name, end in ENDS.items() if name != "outside"]


@pytest.fixture
def frequent_switches() -> Generator[None, None, None]:
    """Let the interpreter change threads nearly as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[random.Random], None]) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        for outcome in [pool.submit(work, random.Random(seed)) for seed in range(THREADS)]:
            outcome.result()


@pytest.fixture
def ticking() -> Callable[[], float]:
    """A clock that goes on by a second at each look, so that ports cool and come back while threads run."""
    ticks = itertools.count(1000)
    return lambda: float(next(ticks))


@pytest.mark.usefixtures("frequent_switches")
def test_threads_never_share_a_port(ticking: Callable[[], float], sysctls: Sysctls) -> None:
    space = make_space(ticking, sysctls)
    holders: dict[int, Lease] = {}

    def work(chance: random.Random) -> None:
        held: list[Lease] = []

        def end(lease: Lease) -> None:
            del holders[lease.port]
            chance.choice(WAYS_BACK)(lease)

        for _ in range(CYCLES // THREADS):
            if len(held) == 4:
                end(held.pop(chance.randrange(4)))
            lease = space.take()
            while lease is None:
                lease = space.take()
            # One step for all threads: whoever comes second finds the first.
            assert holders.setdefault(lease.port, lease) is lease, f"port {lease.port} is in two hands"
            held.append(lease)
        for lease in held:
            end(lease)

    in_threads(work)
    assert census(space).leased == 0
    assert space.counts.leases == CYCLES


@pytest.mark.usefixtures("frequent_switches")
def test_threads_keep_to_a_limit_together(ticking: Callable[[], float], sysctls: Sysctls) -> None:
    most = 2 * THREADS
    space = make_space(ticking, sysctls, most=most)

    def work(chance: random.Random) -> None:
        held: list[Lease] = []
        for _ in range(CYCLES // THREADS):
            with contextlib.suppress(PortsExhausted):
                held.append(take(space))
            assert space.leased <= most
            if len(held) > 2 or (held and chance.random() < 0.5):
                held.pop().release(How.FREED)
        for lease in held:
            lease.release(How.FREED)

    in_threads(work)
    assert census(space).leased == 0
