"""Which steps PortsExhausted names: three, and first the one that frees most."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fourtuple.errors import Shortage
from fourtuple.ports.remedies import remedies
from fourtuple.ports.settings import Settings
from fourtuple.ports.timewait import TwReuse
from ports.fakes import SETTINGS

FULL = Shortage(
    source="192.0.2.1",
    destination="192.0.2.2:80",
    low=10_000,
    high=10_999,
    leased=1000,
    cooling=0,
    foreign=0,
    excluded=0,
    free=0,
    next_free=None,
)


def shares(low: int, counts: tuple[int, int, int, int, int]) -> Shortage:
    leased, cooling, foreign, excluded, free = counts
    return replace(
        FULL,
        low=low,
        high=low + sum(counts) - 1,
        leased=leased,
        cooling=cooling,
        foreign=foreign,
        excluded=excluded,
        free=free,
    )


PORTS = st.integers(0, 1000)
SHORTAGES = st.builds(shares, st.integers(1, 60_000), st.tuples(PORTS, PORTS, PORTS, PORTS, PORTS).filter(any))
SETTINGS_OF_ALL_KINDS = st.builds(
    Settings,
    low=st.just(10_000),
    high=st.just(10_999),
    reserved=st.just(b""),
    tw_reuse=st.sampled_from(TwReuse),
    tw_reuse_delay=st.none(),
    timestamps=st.booleans(),
)


@given(SHORTAGES, SETTINGS_OF_ALL_KINDS, st.booleans())
def test_there_are_always_three_different_ones(shortage: Shortage, settings: Settings, loopback: bool) -> None:
    steps = remedies(shortage, settings, loopback=loopback)
    assert len(set(steps)) == len(steps) == 3


@given(SHORTAGES, SETTINGS_OF_ALL_KINDS, st.booleans())
@example(shortage=replace(FULL, leased=0, excluded=1000), settings=SETTINGS, loopback=False)
def test_none_promises_nothing(shortage: Shortage, settings: Settings, loopback: bool) -> None:
    for step in remedies(shortage, settings, loopback=loopback):
        assert " 0 " not in step.replace("(now 0)", "")


@pytest.mark.parametrize(
    ("shortage", "first"),
    [
        (FULL, "connect from further source addresses (source=[...]): each adds 1000 ports"),
        (replace(FULL, leased=600, free=400), "raise Limits.ports: 400 ports are free above it"),
        (
            replace(FULL, leased=500, foreign=500),
            "find who holds the 500 other ports: ss -tanp dst 192.0.2.2:80",
        ),
        (
            replace(FULL, leased=500, excluded=500),
            "release some of the 500 reserved ports (net.ipv4.ip_local_reserved_ports)",
        ),
        (
            replace(FULL, leased=500, cooling=500),
            "let the other end close first: 500 ports rest since this end closed first",
        ),
        (
            replace(FULL, leased=253, cooling=249, foreign=249, excluded=249),
            "connect from further source addresses (source=[...]): each adds 751 ports",
        ),
    ],
)
def test_a_large_cause_comes_first(shortage: Shortage, first: str) -> None:
    assert remedies(shortage, SETTINGS, loopback=False)[0] == first


@pytest.mark.parametrize(
    ("changes", "loopback", "first"),
    [
        ({"timestamps": False}, True, "set net.ipv4.tcp_timestamps=1: 900 ports rest since this end closed first, "),
        ({"tw_reuse": TwReuse.OFF}, True, "set net.ipv4.tcp_tw_reuse=1 (now 0): 900 ports rest since "),
        ({"tw_reuse": TwReuse.LOOPBACK}, False, "set net.ipv4.tcp_tw_reuse=1 (now 2): 900 ports rest "),
        ({"tw_reuse": TwReuse.LOOPBACK}, True, "let the other end close first: 900 ports rest since "),
        ({"tw_reuse": TwReuse.ON}, False, "let the other end close first: 900 ports rest since "),
    ],
)
def test_time_wait_is_answered_by_the_setting_that_keeps_it(
    changes: dict[str, object], loopback: bool, first: str
) -> None:
    shortage = replace(FULL, leased=100, cooling=900)
    settings = replace(SETTINGS, **changes)
    steps = remedies(shortage, settings, loopback=loopback)
    assert steps[0].startswith(first)
    assert any(step.startswith("let the other end close first") for step in steps)


def test_a_limit_is_named_before_the_time_wait_beside_it() -> None:
    steps = remedies(replace(FULL, leased=100, cooling=800, free=100), SETTINGS, loopback=False)
    assert steps[0] == "raise Limits.ports: 100 ports are free above it"
    assert steps[1].startswith("let the other end close first: 800 ports")
