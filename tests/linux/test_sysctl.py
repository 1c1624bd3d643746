"""Lists and bitmaps of ports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.linux.sysctl import PortRange, count_ports, parse_ports

PORTS = st.integers(0, 65535)
RANGES = st.tuples(PORTS, PORTS).map(lambda ends: (min(ends), max(ends)))


@given(st.lists(RANGES, max_size=20), RANGES)
def test_a_list_becomes_its_bits(ranges: list[tuple[int, int]], window: tuple[int, int]) -> None:
    text = ",".join(f"{low}-{high}" if low < high else f"{low}" for low, high in ranges)
    ports = {port for low, high in ranges for port in range(low, high + 1)}
    bitmap = parse_ports(text)
    assert bitmap == sum(1 << port for port in ports).to_bytes(8192, "little")
    within = PortRange(*window)
    assert count_ports(bitmap, within) == sum(within.low <= port <= within.high for port in ports)


@pytest.mark.parametrize("text", ["", "\n", " "])
def test_an_empty_list_has_no_ports(text: str) -> None:
    assert parse_ports(text) == bytes(8192)


@pytest.mark.parametrize("text", ["65536", "5-4", "x", "1,,2", "1-65536"])
def test_what_is_no_list_of_ports_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(text: |invalid literal)"):
        parse_ports(text)
