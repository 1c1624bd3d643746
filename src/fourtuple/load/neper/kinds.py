"""What kinds of values flags have: how each is read from the command line and printed in the options dump."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from .units import UNITS

T = TypeVar("T")

_DURATION: Final = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)(ns|us|ms|s)?")
_NANOSECONDS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_NUMBER_AND_SUFFIX: Final = re.compile(r"(.*?)([A-Za-z]*)")
# Both are short for a percentile that would need a point.
_NINES: Final = {999.0: 99.9, 9999.0: 99.99}


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A kind of value. ``read`` raises ValueError that says what is wrong with the text."""

    metavar: str
    read: Callable[[str], T]
    show: Callable[[T], str]


def _integer(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            value = int(text, 16 if text[:2].lower() == "0x" else 10)
        except ValueError:
            raise ValueError(f"{text!r} is no whole number") from None
        if not low <= value <= high:
            raise ValueError(f"{text} is outside {low} to {high}")
        return value

    return read


def _real(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is no number")
    return value


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(f"{text!r} is neither 0 nor 1")
    return text == "1"


def _port(text: str) -> int:
    if text.isascii() and text.isdigit():
        return _integer(1, 65535)(text)
    try:
        return socket.getservbyname(text, "tcp")
    except OSError:
        raise ValueError(f"{text!r} is neither a port nor the name of a TCP service") from None


def _rate(text: str) -> int:
    match = _NUMBER_AND_SUFFIX.fullmatch(text)
    number, suffix = match.groups() if match else ("", "")
    unit = UNITS.get(suffix or "B")
    if unit is None:
        raise ValueError(f"{text!r} ends in no unit of rates; they are {' '.join(UNITS)}")
    value = _real(number) * unit.size
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{text!r} is outside 0 to 2^64 - 1 bytes a second")
    return int(value)


def _duration(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration such as 10us: a whole number, then ns (or nothing), us, ms or s")
    number, suffix = match.groups()
    return int(number, 0 if number[:2].lower() == "0x" else 10) * _NANOSECONDS[suffix or "ns"]


def _percentiles(text: str) -> tuple[float, ...]:
    numbers = re.split(r"[^\d.eE+-]", text)
    values = {_NINES.get(value, value) for value in map(_real, numbers)}
    if not all(0 <= value <= 100 for value in values):
        raise ValueError(f"{text!r} has numbers outside 0 to 100")
    return tuple(sorted(values))


def _hosts(text: str) -> tuple[str, ...]:
    hosts = tuple(text.split(","))
    if not all(host and host == host.strip() for host in hosts):
        raise ValueError(f"{text!r} is no list such as 10.0.0.1,10.0.0.2: it has an empty item or a blank")
    return hosts


def choice(*values: str) -> Kind[str]:
    """One of some words."""

    def read(text: str) -> str:
        if text not in values:
            raise ValueError(f"{text!r} is none of {', '.join(values)}")
        return text

    return Kind("|".join(values), read, str)


SWITCH: Final = Kind("", _switch, lambda value: str(int(value)))
INTEGER: Final = Kind("INTEGER", _integer(-(1 << 31), (1 << 31) - 1), str)
UNSIGNED: Final = Kind("INTEGER", _integer(0, (1 << 64) - 1), str)
REAL: Final = Kind("NUMBER", _real, lambda value: f"{value:f}")
TEXT: Final = Kind("TEXT", str, str)
FILE: Final = Kind("FILE", lambda text: text.removeprefix("="), str)
PORT: Final = Kind("PORT", _port, str)
RATE: Final = Kind("RATE", _rate, str)
DURATION: Final = Kind("DURATION", _duration, str)
PERCENTILES: Final = Kind("LIST", _percentiles, lambda values: "".join(f"{value:g}," for value in values))
HOSTS: Final = Kind("LIST", _hosts, ",".join)
