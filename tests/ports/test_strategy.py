"""The order in which strategies are fallen back to, and their names."""

from __future__ import annotations

import pytest

from fourtuple.ports.strategy import Strategy, best_strategy, parse_strategy


def unasked() -> bool:
    raise AssertionError("nobody needs to know")


def yes() -> bool:
    return True


def no() -> bool:
    return False


def test_a_one_port_range_comes_first_and_nothing_else_is_tried() -> None:
    assert best_strategy(yes, unasked) is Strategy.RANGE


def test_a_shared_bind_comes_second() -> None:
    assert best_strategy(no, yes) is Strategy.BIND


def test_the_kernel_chooses_where_nothing_else_works() -> None:
    assert best_strategy(no, no) is Strategy.KERNEL


@pytest.mark.parametrize(
    ("name", "strategy"), [("range", Strategy.RANGE), ("bind", Strategy.BIND), ("kernel", Strategy.KERNEL)]
)
def test_each_has_a_name(name: str, strategy: Strategy) -> None:
    assert parse_strategy(name) is strategy
    assert parse_strategy(strategy) is strategy


@pytest.mark.parametrize("name", ["", "RANGE", "ebpf"])
def test_another_name_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(ValueError, match=f"^strategy must be one of range, bind, kernel, not {name!r}$"):
        parse_strategy(name)
