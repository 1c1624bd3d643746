"""Worlds on a private loopback."""

from __future__ import annotations

import errno
import os
import signal

import pytest

from fourtuple.errors import PortsExhausted, Unsupported
from fourtuple.linux.netns import NetworkNamespace
from fourtuple.linux.sysctl import PortRange
from fourtuple.load.choosers import Chooser, fourtuple_chooses, kernel_chooses
from fourtuple.load.churn import churn_in_tasks, churn_in_threads
from fourtuple.load.connections import Connections
from fourtuple.load.exhaustion import exhaust
from fourtuple.load.overhead import compare_with_plain
from fourtuple.load.places import Existing, Loopback, PrivateNetwork
from fourtuple.load.sinks import sinks
from fourtuple.load.world import open_world
from load.processes import all_end, descendants

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("netns")]

CHOOSERS = pytest.mark.parametrize("chooser", [kernel_chooses, fourtuple_chooses])
HOSTS = pytest.mark.parametrize("host", ["127.0.0.1", "::1"])


def small(host: str, size: int = 100) -> PrivateNetwork:
    return PrivateNetwork(PortRange(20000, 20000 + size - 1), Loopback(host, size))


@CHOOSERS
@HOSTS
def test_a_world_holds_and_replaces_up_to_its_last_port(chooser: Chooser, host: str) -> None:
    with open_world(chooser, small(host)) as world:
        world.ask(Connections.grow, 60)
        world.ask(Connections.grow, 40)
        assert world.ask(Connections.__len__) == 100
        assert len(world.ask(Connections.replace, 30)) == 30


@pytest.mark.parametrize(("chooser", "error"), [(kernel_chooses, OSError), (fourtuple_chooses, PortsExhausted)])
def test_errors_of_the_worker_are_raised_here_and_it_works_on(chooser: Chooser, error: type[OSError]) -> None:
    with open_world(chooser, small("::1")) as world:
        with pytest.raises(error) as raised:
            world.ask(Connections.grow, 101)
        assert type(raised.value) is error
        assert raised.value.errno == errno.EADDRNOTAVAIL
        assert world.ask(Connections.__len__) == 100


def test_the_network_of_a_private_world_is_its_own(netns: NetworkNamespace) -> None:
    place = small("127.0.0.1")
    with open_world(kernel_chooses, place) as one, open_world(kernel_chooses, place) as other:
        one.ask(Connections.grow, 100)
        other.ask(Connections.grow, 100)
        assert netns.port_range == (10000, 29999)


def test_a_world_connects_to_a_destination_that_is_there() -> None:
    with (
        sinks("127.0.0.1", 100) as address,
        open_world(fourtuple_chooses, Existing(address)) as world,
    ):
        world.ask(Connections.grow, 20)
        assert world.ask(Connections.__len__) == 20


def test_a_place_that_is_not_here_is_refused_by_name() -> None:
    place = Loopback("192.0.2.1", 10)
    with pytest.raises(Unsupported, match=r"192\.0\.2\.1"), open_world(kernel_chooses, place):
        pass


def test_nothing_is_left_when_a_world_closes() -> None:
    with open_world(kernel_chooses, small("::1")) as world:
        world.ask(Connections.grow, 50)
        started = descendants(os.getpid())
        assert len(started) == 2
    assert descendants(os.getpid()).isdisjoint(started)


def test_a_worker_that_dies_is_told_and_takes_its_sinks_along() -> None:
    with open_world(kernel_chooses, Loopback("::1", 10)) as world:
        started = descendants(os.getpid())
        (worker,) = (pid for pid in started if descendants(pid))
        os.kill(worker, signal.SIGKILL)
        with pytest.raises(ChildProcessError, match="worker process"):
            world.ask(Connections.grow, 1)
        assert all_end(started - {worker})


@CHOOSERS
@HOSTS
def test_threads_and_tasks_churn_beside_what_is_held(chooser: Chooser, host: str) -> None:
    with open_world(chooser, small(host)) as world:
        world.ask(Connections.grow, 80)
        assert world.ask(churn_in_threads, 8, 20) > 0
        assert world.ask(churn_in_tasks, 20, 5) > 0
        # All ports are back: the rest can be had.
        world.ask(Connections.grow, 20)


@pytest.mark.parametrize(("chooser", "error"), [(kernel_chooses, "OSError"), (fourtuple_chooses, "PortsExhausted")])
def test_the_last_ports_are_held_by_another_process(chooser: Chooser, error: str) -> None:
    with open_world(chooser, small("::1")) as world:
        world.ask(Connections.grow, 90)
        refusals = world.ask(exhaust, 10, 5)
        assert refusals.errors == {error}
        assert len(refusals.took) == 5
        world.ask(Connections.grow, 10)


def test_a_port_that_is_left_is_no_exhaustion() -> None:
    with open_world(kernel_chooses, small("::1")) as world:
        world.ask(Connections.grow, 90)
        with pytest.raises(RuntimeError, match="90 connections held"):
            world.ask(exhaust, 9, 1)


def test_overhead_times_both_ways_and_leaves_no_port_behind() -> None:
    with open_world(fourtuple_chooses, small("::1")) as world:
        world.ask(Connections.grow, 5)
        for cycles in world.ask(compare_with_plain, 60):
            assert len(cycles.connect) == len(cycles.whole) == 60
            pairs = zip(cycles.connect, cycles.whole, strict=True)
            assert all(0 < connect < whole for connect, whole in pairs)
        world.ask(Connections.grow, 95)
