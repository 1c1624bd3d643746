"""The tables that workers share: what one worker sees, what several do, and bad input."""

from __future__ import annotations

import errno
import os

import pytest

from fourtuple.model.concurrent import Keys, Layout, Tables, locked_tables, rcu_tables
from fourtuple.model.concurrent.epochs import Epochs
from model.concurrent.stress import FORMS, Form, block, faults

SMALL = Layout(workers=2, bind_chains=4, established_chains=4, nodes=16)
KEYS = Keys(1, 2, 443, 10_000, 10_003)


@pytest.fixture(params=[locked_tables, rcu_tables])
def pair(request: pytest.FixtureRequest) -> list[Tables]:
    """Two workers' tables in one block."""
    memory = block(SMALL)
    form: Form = request.param
    return [form(SMALL, memory, worker) for worker in range(2)]


def ports(tables: Tables, keys: Keys) -> list[int]:
    return [port for port in range(keys.low, keys.high + 1) if tables.lookup(keys, port) > 0]


def test_ports_are_claimed_upwards_from_the_start_and_round(pair: list[Tables]) -> None:
    one, other = pair
    claimed = [one.local_port(one.connect(KEYS, 2)), *(other.local_port(other.connect(KEYS, 2)) for _ in range(3))]
    assert claimed == [10_002, 10_003, 10_000, 10_001]
    assert one.connect(KEYS, 0) == -errno.EADDRNOTAVAIL


def test_what_one_worker_connects_another_finds_and_closes(pair: list[Tables]) -> None:
    one, other = pair
    handle = one.connect(KEYS, 1)
    assert other.lookup(KEYS, 10_001) == handle
    assert ports(other, KEYS) == [10_001]
    assert other.close(handle) == 0
    assert one.lookup(KEYS, 10_001) == -errno.ENOENT
    assert one.local_port(one.connect(KEYS, 1)) == 10_001


def test_a_port_is_shared_by_destinations(pair: list[Tables]) -> None:
    tables = pair[0]
    elsewhere = Keys(1, 3, 443, 10_000, 10_003)
    first, second = tables.connect(KEYS, 0), tables.connect(elsewhere, 0)
    assert ports(tables, KEYS) == ports(tables, elsewhere) == [10_000]
    assert tables.close(first) == 0
    assert tables.connect(elsewhere, 0) != second
    assert ports(tables, elsewhere) == [10_000, 10_001]


def test_a_handle_closes_once_though_its_node_is_used_again(pair: list[Tables]) -> None:
    tables = pair[0]
    stale: set[int] = set()
    for _ in range(40):
        handle = tables.connect(KEYS, 0)
        assert handle not in stale
        assert tables.close(handle) == 0
        stale.add(handle)
        assert {tables.close(old) for old in stale} == {-errno.ESTALE}
    assert {tables.close(never) for never in (-1, 0, 1, 99, 1 << 32)} == {-errno.ESTALE}


def test_a_block_that_is_full_says_so_and_goes_on(pair: list[Tables]) -> None:
    one, other = pair
    many = Keys(1, 2, 80, 1, 100)
    handles = [one.connect(many, 0) for _ in range(8)]
    assert min(handles) > 0
    assert one.connect(many, 0) == -errno.ENOMEM
    assert other.close(handles[0]) == 0
    assert one.local_port(one.connect(many, 0)) == 1


def test_nodes_that_a_reader_may_hold_are_not_used_again() -> None:
    memory = block(SMALL)
    tables = rcu_tables(SMALL, memory, 0)
    many = Keys(1, 2, 80, 1, 100)
    handles = [tables.connect(many, 0) for _ in range(8)]
    reader = Epochs(SMALL, memory, 1)
    reader.enter()
    assert {tables.close(handle) for handle in handles} == {0}
    assert tables.connect(many, 0) == -errno.EAGAIN
    reader.leave()
    assert tables.connect(many, 0) > 0


def test_processes_share_a_block() -> None:
    memory = block(SMALL)
    child = os.fork()
    if child == 0:
        os._exit(0 if rcu_tables(SMALL, memory, 1).connect(KEYS, 3) > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ports(rcu_tables(SMALL, memory, 0), KEYS) == [10_003]


@pytest.mark.parametrize("form", FORMS)
def test_threads_never_hold_a_four_tuple_twice_and_lose_none(form: str) -> None:
    assert faults(FORMS[form], 2_000) == []


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 4, 4, 16), "workers: 0 is not in 1 to"),
        ((2, 3, 4, 16), "bind_chains: 3 is no power of two; 2 and 4 are"),
        ((2, 4, 12, 16), "established_chains: 12 is no power of two; 8 and 16 are"),
        ((2, 4, 4, 1 << 32), "nodes: 4294967296 is not in 1 to 4294967295"),
    ],
)
def test_impossible_sizes_are_refused(sizes: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout(*sizes)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((-1, 2, 443, 1, 2), "source: -1"),
        ((1, 1 << 32, 443, 1, 2), "destination: 4294967296"),
        ((1, 2, 0, 1, 2), "destination_port: 0"),
        ((1, 2, 443, 1, 65_536), "high: 65536"),
        ((1, 2, 443, 3, 2), "low: 3 is above high, 2"),
    ],
)
def test_impossible_keys_are_refused(numbers: tuple[int, int, int, int, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Keys(*numbers)


def test_memory_and_worker_must_fit_the_layout() -> None:
    with pytest.raises(ValueError, match=f"memory: 8 bytes of format 'Q'; the layout takes {SMALL.size}"):
        rcu_tables(SMALL, memoryview(bytearray(8)).cast("Q"), 0)
    with pytest.raises(ValueError, match="worker: 2 is not in 0 to 1"):
        rcu_tables(SMALL, block(SMALL), 2)
