"""What tcp_stream makes of its flags and its counts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.load.neper.counters import Counters
from fourtuple.load.neper.options import dump, flags
from fourtuple.load.neper.program import Figures, Plan
from fourtuple.load.neper.stream import TcpStream
from fourtuple.load.neper.stream_options import AUTOMATIC, StreamOptions
from fourtuple.load.neper.trend import Trend
from fourtuple.load.neper.units import UNITS


def program(**options: Any) -> TcpStream:
    return TcpStream(StreamOptions(**options))


def figures(rate: float, *, things: int = 0, **numbers: int) -> Figures:
    trend = Trend()
    trend.add(0, 0)
    trend.add(10**12, int(rate * 1000))
    return Figures(trend, Counters(things, {}, numbers), None)


def test_the_dump_begins_as_nepers() -> None:
    keys = [key for key, _ in dump(StreamOptions())]
    assert keys[:18] == [
        "VERSION",
        "mark",
        "no_cork",
        "async_connect",
        "enable_tcp_maerts",
        "split_bidir",
        "enable_write",
        "enable_read",
        "rx_zerocopy",
        "skip_rx_copy",
        "buffer_size",
        "delay",
        "throughput_opt",
        "zerocopy",
        "reuseaddr",
        "edge_trigger",
        "test_length",
        "congestion_control",
    ]
    assert len(keys) == 51


def test_the_flags_have_nepers_letters_and_defaults() -> None:
    own = {name: (flag.letter, flag.kind.show(default)) for name, default, flag in flags(StreamOptions)}
    assert {name: own[name] for name in ("test_length", "buffer_size", "delay", "throughput_opt", "mark")} == {
        "test_length": ("l", "10"),
        "buffer_size": ("B", "16384"),
        "delay": ("D", "0"),
        "throughput_opt": ("", "Mb"),
        "mark": ("", "0"),
    }
    letters = {"edge_trigger": "E", "reuseaddr": "R", "zerocopy": "Z", "rx_zerocopy": "z", "enable_read": "r"}
    letters |= {"enable_write": "w", "enable_tcp_maerts": "M", "no_cork": "", "split_bidir": "", "skip_rx_copy": ""}
    assert {name: own[name] for name in letters} == {name: (letter, "0") for name, letter in letters.items()}


def test_every_flag_is_in_the_documents_as_it_is() -> None:
    document = (Path(__file__).parents[3] / "docs" / "neper.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `--.*$", document, re.MULTILINE)
    for named in flags(StreamOptions):
        letter = f" `-{named.flag.letter}`" if named.flag.letter else ""
        remark = f" *{named.flag.remark}*" if named.flag.remark else ""
        begin, end = f"| `{named.spelling}`{letter} |", f"| {named.flag.help}.{remark} |"
        alone = f"| {named.flag.help}. Alone: `{named.flag.bare}`.{remark} |"
        told = [row for row in rows if row.startswith(begin) and row.endswith((end, alone))]
        assert len(told) == 1, named.spelling


@pytest.mark.parametrize(
    ("flags", "client", "server"),
    [
        ({}, (False, True), (True, False)),
        ({"enable_read": True}, (True, True), (True, False)),
        ({"enable_write": True}, (False, True), (True, True)),
        ({"enable_read": True, "enable_write": True}, (True, True), (True, True)),
        ({"enable_tcp_maerts": True}, (True, False), (False, True)),
        ({"enable_tcp_maerts": True, "enable_read": True, "enable_write": True}, (True, False), (False, True)),
        ({"split_bidir": True}, (True, True), (True, True)),
    ],
)
def test_who_reads_and_who_writes(flags: dict[str, bool], client: tuple[bool, bool], server: tuple[bool, bool]) -> None:
    for is_client, expected in ((True, client), (False, server)):
        side = program(client=is_client, **flags)
        assert (side.options.enable_read, side.options.enable_write) == expected
        assert side.reports == expected[0]
        assert side.things == ("bytes_read" if expected[0] else "bytes_written")


def test_split_directions_take_twice_the_flows() -> None:
    assert program(client=True, num_flows=3, split_bidir=True).options.num_flows == 6
    assert program(client=True, num_flows=3).options.num_flows == 3


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"test_length": 0}, "--test-length must be 1 or more, not 0"),
        ({"test_length": -5}, "--test-length must be 1 or more, not -5"),
        ({"buffer_size": 0}, "--buffer-size must be 1 or more, not 0"),
        ({"rate": 5.0}, "--rate .* --max-pacing-rate"),
        ({"rx_zerocopy": True, "skip_rx_copy": True}, "--rx-zerocopy and --skip-rx-copy exclude"),
        ({"split_bidir": True, "enable_tcp_maerts": True}, "--split-bidir and --enable-tcp-maerts exclude"),
        ({"client": True, "tcp_fastopen": True, "enable_tcp_maerts": True}, "--tcp-fastopen .* --enable-tcp-maerts"),
        ({"client": True, "tcp_fastopen": True, "split_bidir": True}, "--tcp-fastopen .* --split-bidir"),
    ],
)
def test_flags_that_cannot_be(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        program(**flags)


def test_a_run_lasts_seconds() -> None:
    assert program(test_length=7).plan == Plan(7, 0, 0.0)


@pytest.mark.parametrize(
    ("flags", "client", "wanted"),
    [
        ({"zerocopy": True}, True, {"--zerocopy"}),
        ({"zerocopy": True}, False, set[str]()),
        ({"rx_zerocopy": True}, True, set[str]()),
        ({"rx_zerocopy": True}, False, {"--rx-zerocopy"}),
        ({"tcp_fastopen": True, "reuseaddr": True}, True, {"--tcp-fastopen", "--reuseaddr"}),
        ({"tcp_fastopen": True, "reuseaddr": True}, False, set[str]()),
        ({"mark": 5, "no_delay": True}, True, {"--mark 5", "--no-delay"}),
        ({"mark": 5, "no_delay": True}, False, {"--mark 5", "--no-delay"}),
    ],
)
def test_socket_options_are_for_who_needs_them(flags: dict[str, Any], client: bool, wanted: set[str]) -> None:
    side = program(client=client, **flags)
    found = side.client_options() if client else side.server_options()
    assert {option.flag for option in found} == wanted


@pytest.mark.parametrize(
    ("unit", "rate", "value", "label"),
    [
        ("Mb", 1_684_477_726.5, "13475.82", "Mbit/s"),
        ("b", 100.0, "800.00", "bits/s"),
        ("k", 1000.0, "8.00", "10^3bits/s"),
        ("K", 2048.0, "2.00", "KBytes/s"),
        ("GiB", 2.0**31, "2.00", "GiB/s"),
        ("auto-b", 125_000.0 * 5, "5.00", "Mbit/s"),
        ("auto-ib", 131_072.0 * 5, "5.00", "Mibit/s"),
        ("auto-B", 5e9, "5.00", "GB/s"),
        ("auto-iB", 1010 * 1024.0, "1010.00", "KiB/s"),
        ("auto-B", 1.0, "0.00", "KB/s"),
        ("auto-B", 5e15, "5000000.00", "GB/s"),
    ],
)
def test_the_throughput_has_its_unit(unit: str, rate: float, value: str, label: str) -> None:
    lines = dict(program(throughput_opt=unit).throughput(figures(rate)))
    assert lines == {"throughput": value, "throughput_units": label}


@given(st.sampled_from(list(AUTOMATIC)), st.floats(1e3, 1e15))
def test_automatic_units_keep_the_number_short(unit: str, rate: float) -> None:
    measured = figures(rate)
    label = dict(program(throughput_opt=unit).throughput(measured))["throughput_units"]
    size = next(unit.size for unit in UNITS.values() if unit.label == label)
    assert measured.trend.throughput > size or label.startswith("K")
    assert measured.trend.throughput <= 1024 * size or label.startswith("G")


def test_units_that_are_none() -> None:
    kind = next(flag.kind for name, _, flag in flags(StreamOptions) if name == "throughput_opt")
    assert [kind.read(name) for name in (*UNITS, *AUTOMATIC)] == [*UNITS, *AUTOMATIC]
    with pytest.raises(ValueError, match="'mb' is no unit of rates; they are b k m g"):
        kind.read("mb")


def test_the_other_side_is_told_bits_by_who_reads() -> None:
    assert program().control_rate(figures(1000.7)) == 8005
    assert program(client=True).control_rate(figures(1000.0)) == 0
    assert program().control_rate(Figures(Trend(), Counters(), None)) == 0


def test_what_was_mapped_is_told() -> None:
    told = dict(program(rx_zerocopy=True).epilogue(figures(1.0, things=1000, bytes_copied=59)))
    assert told == {"bytes_mmaped": "941", "percent_mmaped": "94"}
    # A side that does not read says so in the same words.
    told = dict(program(client=True, rx_zerocopy=True).epilogue(figures(1.0, things=1000)))
    assert told == {"bytes_mmaped": "0", "percent_mmaped": "0"}
    assert dict(program().epilogue(figures(1.0, things=1000))) == {}
