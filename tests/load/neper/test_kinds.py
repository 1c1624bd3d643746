"""Values of flags, as they are typed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.load.neper.kinds import (
    DURATION,
    FILE,
    HOSTS,
    INTEGER,
    PERCENTILES,
    PORT,
    RATE,
    REAL,
    SWITCH,
    UNSIGNED,
    Kind,
    choice,
)


@pytest.mark.parametrize(
    ("kind", "text", "value", "shown"),
    [
        (SWITCH, "1", True, "1"),
        (SWITCH, "0", False, "0"),
        (INTEGER, "-1000", -1000, "-1000"),
        (INTEGER, "010", 10, "10"),
        (UNSIGNED, "0x10", 16, "16"),
        (REAL, "0.25", 0.25, "0.250000"),
        (FILE, "=x.csv", "x.csv", "x.csv"),
        (FILE, "x.csv", "x.csv", "x.csv"),
        (PORT, "12866", 12866, "12866"),
        (PORT, "http", 80, "80"),
        (RATE, "1000", 1000, "1000"),
        (RATE, "8b", 1, "1"),
        (RATE, "1k", 125, "125"),
        (RATE, "1.5m", 187500, "187500"),
        (RATE, "1g", 125000000, "125000000"),
        (RATE, "1K", 1024, "1024"),
        (RATE, "1MB", 1000000, "1000000"),
        (RATE, "1Mb", 125000, "125000"),
        (RATE, "1MiB", 1048576, "1048576"),
        (RATE, "1e3", 1000, "1000"),
        (DURATION, "5", 5, "5"),
        (DURATION, "10us", 10_000, "10000"),
        (DURATION, "0x10ms", 16_000_000, "16000000"),
        (DURATION, "2s", 2_000_000_000, "2000000000"),
        (PERCENTILES, "50,90,99", (50, 90, 99), "50,90,99,"),
        (PERCENTILES, "99.95 50:90x50", (50, 90, 99.95), "50,90,99.95,"),
        (PERCENTILES, "999,9999", (99.9, 99.99), "99.9,99.99,"),
        (HOSTS, "10.0.0.1,::1", ("10.0.0.1", "::1"), "10.0.0.1,::1"),
        (choice("even", "poisson"), "poisson", "poisson", "poisson"),
    ],
)
def test_values_are_read_and_shown(kind: Kind[Any], text: str, value: object, shown: str) -> None:
    assert kind.read(text) == value
    assert kind.show(value) == shown


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        (SWITCH, "yes", "'yes' is neither 0 nor 1"),
        (INTEGER, "3x", "'3x' is no whole number"),
        (INTEGER, "2147483648", "2147483648 is outside -2147483648 to 2147483647"),
        (UNSIGNED, "-1", "-1 is outside 0 to"),
        (REAL, "nan", "'nan' is no number"),
        (PORT, "0", "0 is outside 1 to 65535"),
        (PORT, "no-such-service", "neither a port nor the name of a TCP service"),
        (RATE, "5x", "'5x' ends in no unit of rates; they are b k m g"),
        (RATE, "-1", "outside 0 to 2"),
        (RATE, "k", "'' is no number"),
        (DURATION, "1.5us", "'1.5us' is no duration such as 10us"),
        (DURATION, "5m", "'5m' is no duration"),
        (PERCENTILES, "50,101", "numbers outside 0 to 100"),
        (PERCENTILES, "50,", "'' is no number"),
        (HOSTS, "a,,b", "an empty item or a blank"),
        (choice("even", "poisson"), "odd", "'odd' is none of even, poisson"),
    ],
)
def test_what_is_wrong_is_told(kind: Kind[Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        kind.read(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("kind", [INTEGER, UNSIGNED, REAL, RATE, DURATION, PERCENTILES, HOSTS, PORT])
@given(text=st.text(max_size=20))
def test_any_text_is_a_value_or_a_value_error(kind: Kind[Any], text: str) -> None:
    with suppress(ValueError):
        kind.show(kind.read(text))
