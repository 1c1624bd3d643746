"""Units of data rates, by the names that neper gives them."""

from __future__ import annotations

from typing import Final, NamedTuple


class Unit(NamedTuple):
    """A unit: its size in bytes per second, and how it is printed."""

    size: float
    label: str


def _units() -> dict[str, Unit]:
    units = {"b": Unit(1 / 8, "bits/s")}
    for power, letter in enumerate("kmg", 1):
        units[letter] = Unit(1000**power / 8, f"10^{3 * power}bits/s")
    units["B"] = Unit(1.0, "B/s")
    for power, letter in enumerate("KMG", 1):
        units[letter] = Unit(1024**power, f"{letter}Bytes/s")
    for suffix, base, bits, label in (
        ("b", 1000, 8, "bit/s"),
        ("B", 1000, 1, "B/s"),
        ("ib", 1024, 8, "ibit/s"),
        ("iB", 1024, 1, "iB/s"),
    ):
        for power, letter in enumerate("KMG", 1):
            units[letter + suffix] = Unit(base**power / bits, letter + label)
    return units


UNITS: Final = _units()
"""``b`` and ``k m g`` are bits and their powers of 1000, ``B`` and ``K M G`` bytes and their powers of 1024."""
