"""The table of flags, against what neper prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fourtuple.load.neper.options import Common, Crr, Rr, dump, flags

COMMON = (
    "wait_start iostat_ms time_wait all_samples port control_port host local_hosts max_pacing_rate interval freebind "
    "nonblocking nolog logtostderr pin_cpu dry_run debug client ipv6 ipv4 stime_use_proc source_port suicide_length "
    "listen_backlog num_clients num_threads num_flows maxevents magic"
)
TCP = "congestion_control no_delay tcp_tx_delay tcp_fastopen num_ports"
TRANSACTIONS = "mark logrtt_entries_per_flow log_rtt buffer_size test_length percentiles response_size request_size"
ORDERS: dict[type[Common], str] = {
    Crr: f"VERSION async_connect {TRANSACTIONS} {TCP} {COMMON}",
    Rr: f"VERSION noburst reuseaddr async_connect delay {TRANSACTIONS} {TCP} {COMMON}",
}


@pytest.mark.parametrize("options", list(ORDERS))
def test_the_dump_has_the_keys_of_neper_in_its_order(options: type[Common]) -> None:
    assert " ".join(key for key, _ in dump(options())) == ORDERS[options]


def test_the_dump_has_the_defaults_of_neper() -> None:
    values = dict(dump(Crr()))
    expected = {
        "VERSION": "1.1.0",
        "async_connect": "1",
        "percentiles": "",
        "test_length": "10",
        "interval": "1.000000",
        "port": "12867",
        "source_port": "-1",
        "all_samples": "",
        "client": "0",
        "magic": "42",
    }
    assert values | expected == values
    assert dict(dump(Rr()))["async_connect"] == "0"


def test_the_letters_are_those_of_neper() -> None:
    letters = {flag.letter: name for name, _, flag in flags(Rr) if flag.letter}
    assert "".join(sorted(letters)) == "46ABCDFHILMPQRSTUXcdlmnpst"
    assert letters["l"] == "test_length"


@pytest.mark.parametrize("options", list(ORDERS))
def test_every_flag_is_in_the_documents_as_it_is(options: type[Common]) -> None:
    document = (Path(__file__).parents[3] / "docs" / "neper.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `--.*$", document, re.MULTILINE)
    for named in flags(options):
        letter = f" `-{named.flag.letter}`" if named.flag.letter else ""
        begin = f"| `{named.spelling}`{letter} |"
        told = [row for row in rows if row.startswith(begin) and named.flag.help in row and named.flag.remark in row]
        assert len(told) == 1, named.spelling
