"""Which spaces a connection draws from: limits, sources, names, and the room that many destinations need."""

from __future__ import annotations

import errno
import gc
import os
import socket
from typing import Any

import pytest

from fourtuple.ports import registry as registry_module
from fourtuple.ports.registry import Destination, Limits, SpaceRegistry, resolve
from fourtuple.ports.settings import SettingsCache
from fourtuple.ports.shared import Lease, SharedSpace
from fourtuple.ports.sources import Sources
from fourtuple.ports.space import How
from fourtuple.ports.statistics import Counts
from fourtuple.ports.strategy import Strategy
from ports.fakes import Clock, Sysctls, take
from ports.interpreter import run

Answers = dict[str, list[str]]


class Routing:
    """Stands in for ``source_for``: one source for each family, and a list of what was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.error: OSError | None = None

    def __call__(self, family: int, address: Any) -> str:
        self.asked.append(address)
        if self.error is not None:
            raise self.error
        return "192.0.2.1" if family == socket.AF_INET else "2001:db8::1"


@pytest.fixture(autouse=True)
def routing(monkeypatch: pytest.MonkeyPatch) -> Routing:
    """Routing without a kernel."""
    found = Routing()
    monkeypatch.setattr(registry_module, "source_for", found)
    return found


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Answers:
    """A resolver that knows what a test tells it, as a list of addresses to answer one by one."""
    answers: Answers = {}

    def getaddrinfo(host: str, port: int, family: int, kind: int) -> list[Any]:
        if not answers.get(host):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        address = answers[host].pop(0)
        if ":" in address:
            return [(socket.AF_INET6, kind, 6, "", (address, port, 0, 0))]
        return [(socket.AF_INET, kind, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return answers


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make_registry(clock: Clock | None = None, **options: Any) -> SpaceRegistry:
    """A registry of spaces of 100 ports."""
    options.setdefault("strategy", "range")
    return SpaceRegistry(clock=clock or Clock(), settings=SettingsCache(read=Sysctls()), **options)


def ipv4(registry: SpaceRegistry, host: str = "198.51.100.1", port: int = 80) -> Destination:
    return registry.destination(socket.AF_INET, (host, port), registry.sources)


# Limits.


@pytest.mark.parametrize("name", ["tries", "spaces", "ports"])
def test_limits_start_at_one(name: str) -> None:
    assert getattr(Limits(**{name: 1}), name) == 1
    for value in (0, -1):
        with pytest.raises(ValueError, match=f"^Limits.{name} must be 1 or more, not {value}$"):
            Limits(**{name: value})


def test_only_ports_may_be_without_limit() -> None:
    assert Limits(ports=None) == Limits()
    for name in ("tries", "spaces"):
        for none in (None, 1.5, float("nan"), "64"):
            with pytest.raises(ValueError, match=f"^Limits.{name} must be a whole number"):
                Limits(**{name: none})  # pyright: ignore[reportArgumentType]


def test_the_limit_of_ports_holds_for_each_space() -> None:
    registry = make_registry(limits=Limits(ports=1))
    for host in ("198.51.100.1", "198.51.100.2"):
        space = ipv4(registry, host).spaces[0]
        take(space)
        with pytest.raises(OSError, match="kept free by a limit"):
            space.take()


# Strategies.


def test_the_best_strategy_is_asked_for_where_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "best_strategy", lambda: Strategy.BIND)
    assert make_registry(strategy=None).strategy is Strategy.BIND


def test_a_strategy_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^strategy must be one of"):
        make_registry(strategy="best")


@pytest.mark.parametrize(("strategy", "tries"), [(Strategy.RANGE, 5), (Strategy.BIND, 5), (Strategy.KERNEL, 0)])
def test_where_the_kernel_chooses_no_port_is_proposed(strategy: Strategy, tries: int) -> None:
    assert make_registry(strategy=strategy, limits=Limits(tries=5)).tries == tries


@pytest.mark.parametrize(("strategy", "waits"), [("range", True), ("bind", False)])
def test_a_port_bound_explicitly_needs_no_wait(strategy: str, waits: bool) -> None:
    space = ipv4(make_registry(strategy=strategy)).spaces[0]
    take(space).release(How.TIME_WAIT)
    assert (space.statistics().ports.cooling == 1) == waits


# Sources.


def test_routing_decides_where_no_source_is_given(routing: Routing) -> None:
    registry = make_registry()
    destination = ipv4(registry)
    assert destination.sources == ("",)
    assert [space.source for space in destination.spaces] == ["192.0.2.1"]
    assert routing.asked == [("198.51.100.1", 80)]


def test_each_source_address_has_a_space_of_its_own(routing: Routing) -> None:
    registry = make_registry(source=["192.0.2.7", "192.0.2.8", "2001:db8::7"])
    destination = ipv4(registry)
    assert destination.sources == ("192.0.2.7", "192.0.2.8")
    assert [space.source for space in destination.spaces] == ["192.0.2.7", "192.0.2.8"]
    ipv6 = registry.destination(socket.AF_INET6, ("2001:db8:1::1", 80, 0, 0), registry.sources)
    assert ipv6.sources == ("2001:db8::7",)
    assert routing.asked == []


def test_the_emptiest_space_comes_first() -> None:
    destination = ipv4(make_registry(source=["192.0.2.7", "192.0.2.8", "192.0.2.9"]))
    first, second, third = destination.spaces
    for space, leases in ((first, 2), (second, 3), (third, 1)):
        for _ in range(leases):
            take(space)
    assert destination.by_emptiness() == [("192.0.2.9", third), ("192.0.2.7", first), ("192.0.2.8", second)]


def test_named_sources_are_the_same_object_each_time() -> None:
    registry = make_registry(source="192.0.2.7", freebind=True)
    assert registry.sources_for(None) is registry.sources
    made = Sources(ipv4=("192.0.2.8",))
    assert registry.sources_for(made) is made
    one = registry.sources_for("192.0.2.0/24")
    assert registry.sources_for("192.0.2.0/24") is one
    several = registry.sources_for(["192.0.2.8", "192.0.2.9"])
    assert registry.sources_for(("192.0.2.8", "192.0.2.9")) is several
    assert several.ipv4 == ("192.0.2.8", "192.0.2.9")
    assert one.freebind
    assert several.freebind


def test_bad_sources_are_refused_each_time() -> None:
    registry = make_registry()
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^source: "):
            registry.sources_for("nonsense")
    with pytest.raises(ValueError, match=r"^source: "):
        make_registry(source="nonsense")


# Destinations.


def test_a_destination_is_found_again_without_asking_routing(routing: Routing) -> None:
    registry = make_registry()
    destination = ipv4(registry)
    assert ipv4(registry) is destination
    assert len(routing.asked) == 1
    assert ipv4(registry, port=81) is not destination
    named = registry.sources_for("192.0.2.7")
    other = registry.destination(socket.AF_INET, ("198.51.100.1", 80), named)
    assert other.sources == ("192.0.2.7",)
    assert registry.destination(socket.AF_INET, ("198.51.100.1", 80), named) is other
    assert ipv4(registry) is destination


def test_routing_is_asked_again_for_a_destination_forgotten(routing: Routing) -> None:
    registry = make_registry()
    destination, other = ipv4(registry), ipv4(registry, port=81)
    registry.forget(destination)
    again = ipv4(registry)
    assert again is not destination
    assert again.spaces == destination.spaces
    assert ipv4(registry, port=81) is other
    assert len(routing.asked) == 3


@pytest.mark.parametrize(
    ("family", "address", "other_family", "other_address"),
    [
        (socket.AF_INET6, ("2001:db8::9", 80, 0, 0), socket.AF_INET6, ("2001:DB8:0::9", 80)),
        (socket.AF_INET, ("198.51.100.1", 80), socket.AF_INET6, ("::ffff:198.51.100.1", 80, 0, 0)),
    ],
)
def test_one_four_tuple_is_in_one_space_however_it_is_spelled(
    family: int, address: Any, other_family: int, other_address: Any
) -> None:
    registry = make_registry(source=["192.0.2.7", "2001:db8::7"])
    one = registry.destination(family, address, registry.sources)
    other = registry.destination(other_family, other_address, registry.sources)
    assert one.spaces == other.spaces
    assert (one.address, other.address) == (address, other_address)
    assert len(registry.statistics().spaces) == 1


def test_names_are_resolved_each_time(names: Answers) -> None:
    registry = make_registry()
    names["host.example"] = ["198.51.100.1", "198.51.100.2", "198.51.100.1"]
    found = [ipv4(registry, "host.example").address for _ in range(3)]
    assert found == [("198.51.100.1", 80), ("198.51.100.2", 80), ("198.51.100.1", 80)]
    with pytest.raises(socket.gaierror):
        ipv4(registry, "host.example")


@pytest.mark.parametrize(
    ("address", "error"),
    [
        (("198.51.100.1", 65_536), ValueError),
        (("198.51.100.1", -1), ValueError),
        (("198.51.100.1", "80"), TypeError),
        (("198.51.100.1",), IndexError),
        ((), IndexError),
        (None, TypeError),
        ((None, 80), TypeError),
        (["198.51.100.1", 80], TypeError),
        # The socket module has a meaning for it, the resolver has none.
        (("", 80), ValueError),
        (("unknown.example", 80), socket.gaierror),
    ],
)
@pytest.mark.usefixtures("names")
def test_what_is_no_address_leaves_nothing_behind(address: Any, error: type[Exception]) -> None:
    registry = make_registry()
    with pytest.raises(error):
        registry.destination(socket.AF_INET, address, registry.sources)
    assert registry.statistics().spaces == ()


def test_routings_error_is_passed_on_and_not_remembered(routing: Routing) -> None:
    registry = make_registry()
    routing.error = OSError(errno.ENETUNREACH, "Network is unreachable")
    with pytest.raises(OSError, match="unreachable"):
        ipv4(registry)
    assert registry.statistics().spaces == ()
    routing.error = None
    assert ipv4(registry).spaces[0].source == "192.0.2.1"


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.EAGAIN])
def test_a_process_that_cannot_ask_routing_has_a_space_all_the_same(routing: Routing, code: int) -> None:
    routing.error = OSError(code, os.strerror(code))
    destination = ipv4(make_registry())
    assert destination.sources == ("",)
    assert [space.source for space in destination.spaces] == [""]


# Room for more.


def kept(registry: SpaceRegistry) -> set[str]:
    return {space.destination for space in registry.statistics().spaces}


def test_idle_spaces_make_room_and_what_they_counted_is_kept() -> None:
    registry = make_registry(limits=Limits(spaces=8))
    for port in range(1, 101):
        space = ipv4(registry, port=port).spaces[0]
        take(space).release(How.FREED)
        assert f"198.51.100.1:{port}" in kept(registry)
        assert len(kept(registry)) <= 8
    assert registry.statistics().counts == Counts(leases=100)


def test_busy_spaces_stay() -> None:
    registry = make_registry(limits=Limits(spaces=4))
    busy: dict[int, SharedSpace] = {}
    leases: list[Lease] = []
    for port in range(1, 7):
        busy[port] = ipv4(registry, port=port).spaces[0]
        leases.append(take(busy[port]))
    for port in range(101, 121):
        ipv4(registry, port=port)
    assert {f"198.51.100.1:{port}" for port in busy} <= kept(registry)
    assert all(ipv4(registry, port=port).spaces == (space,) for port, space in busy.items())
    for lease in leases:
        lease.release(How.FREED)
    for port in range(201, 211):
        ipv4(registry, port=port)
    assert len(kept(registry)) <= 4


@pytest.mark.parametrize("how", [How.TIME_WAIT, How.TIME_WAIT_KEPT, How.DETACHED])
def test_spaces_without_a_connection_make_room_those_that_know_nothing_first(clock: Clock, how: How) -> None:
    registry = make_registry(clock, limits=Limits(spaces=4))
    take(ipv4(registry, port=1).spaces[0]).release(how)
    for port in (2, 3, 4):
        ipv4(registry, port=port)
    ipv4(registry, port=5)
    assert "198.51.100.1:1" in kept(registry)
    for port in range(6, 21):
        take(ipv4(registry, port=port).spaces[0]).release(how)
        assert len(kept(registry)) <= 4


def test_a_destination_has_room_for_all_its_sources() -> None:
    registry = make_registry(limits=Limits(spaces=2), source=[f"192.0.2.{host}" for host in range(1, 11)])
    for port in (80, 81):
        destination = ipv4(registry, port=port)
        assert len(destination.spaces) == 10
        assert kept(registry) == {f"198.51.100.1:{port}"}


def test_no_destination_leads_to_a_space_that_was_dropped() -> None:
    registry = make_registry(limits=Limits(spaces=2))
    before = ipv4(registry, port=1).spaces[0]
    for port in range(2, 10):
        ipv4(registry, port=port)
    after = ipv4(registry, port=1).spaces[0]
    assert after is not before
    take(after)
    assert registry.statistics().counts == Counts(leases=1)


def test_sources_named_for_one_connection_each_do_not_pile_up() -> None:
    registry = make_registry(limits=Limits(spaces=4))
    gc.collect()
    before = sum(isinstance(thing, Sources) for thing in gc.get_objects())
    for host in range(1, 101):
        registry.destination(socket.AF_INET, ("198.51.100.1", 80), registry.sources_for(f"192.0.2.{host}"))
    assert sum(isinstance(thing, Sources) for thing in gc.get_objects()) <= before + 4


# Statistics.


def test_statistics_cover_every_space() -> None:
    registry = make_registry(strategy="bind")
    take(ipv4(registry, port=80).spaces[0])
    for _ in range(2):
        take(ipv4(registry, port=81).spaces[0])
    found = registry.statistics()
    assert found.strategy == "bind"
    assert found.counts == Counts(leases=3)
    assert [(space.destination, space.ports.leased) for space in found.spaces] == [
        ("198.51.100.1:80", 1),
        ("198.51.100.1:81", 2),
    ]


@pytest.mark.parametrize("destinations", [0, 1, 9])
def test_statistics_are_a_snapshot(destinations: int) -> None:
    registry = make_registry(limits=Limits(spaces=2))
    for port in range(destinations):
        take(ipv4(registry, port=port).spaces[0]).release(How.FREED)
    found = registry.statistics()
    found.counts.leases = 99
    assert registry.statistics().counts == Counts(leases=destinations)


# Forks.

MAKE_REGISTRY = """
clock = Clock()

def make(sysctls):
    return SpaceRegistry(
        source="192.0.2.1", strategy="range", limits=Limits(spaces=2), clock=clock, settings=SettingsCache(sysctls)
    )

def connect(port):
    return registry.destination(2, ("198.51.100.1", port), registry.sources)

def leases():
    return registry.statistics().counts.leases
"""


def test_a_forked_child_counts_from_zero() -> None:
    run(
        MAKE_REGISTRY
        + """
registry = make(Sysctls())
for port in range(9):
    connect(port).spaces[0].take().release(How.FREED)
assert in_child(leases) == 0
assert leases() == 9
"""
    )


def test_a_forked_child_has_every_port_and_its_parent_keeps_its_own() -> None:
    run(
        MAKE_REGISTRY
        + """
registry = make(Sysctls())
lease = connect(80).spaces[0].take()

def ask():
    lease.release(How.FREED)
    return len([lease for lease in iter(connect(80).spaces[0].take, None)])

assert in_child(ask) == 100
assert connect(80).spaces[0].leased == 1
lease.release(How.FREED)
assert connect(80).spaces[0].leased == 0
"""
    )


def test_a_lock_held_during_a_fork_does_not_hold_up_the_child() -> None:
    run(
        MAKE_REGISTRY
        + """
registry = make(Stuck())
connect(80).spaces[0].take()
clock.now += 10
threading.Thread(target=connect, args=(81,), daemon=True).start()
Stuck.inside.wait()
assert in_child(leases) == 0
"""
    )


# Names.


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("198.51.100.1", [(socket.AF_INET, ("198.51.100.1", 80))]),
        ("2001:db8::1", [(socket.AF_INET6, ("2001:db8::1", 80, 0, 0))]),
    ],
)
@pytest.mark.usefixtures("names")
def test_a_literal_needs_no_resolver(host: str, found: list[Any]) -> None:
    assert resolve(host, 80) == found


def test_a_name_needs_one(names: Answers) -> None:
    names["host.example"] = ["2001:db8::5"]
    assert resolve("host.example", 80) == [(socket.AF_INET6, ("2001:db8::5", 80, 0, 0))]
    with pytest.raises(socket.gaierror):
        resolve("host.example", 80)
