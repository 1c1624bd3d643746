"""Wrong options, each refused by the name of its flag."""

from __future__ import annotations

from typing import Any

import pytest

from fourtuple.load.neper.checks import check
from fourtuple.load.neper.options import Crr, Rr
from fourtuple.load.neper.transactions import TcpCrr, TcpRr

WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"rate": 1e10, "num_threads": 2, "num_flows": 2},
        "--rate 1e+10 is above 1e+09 transactions a second for each of 2",
    ),
    ({"logtostderr": True, "nolog": True}, "--logtostderr and --nolog exclude each other"),
    ({"num_flows": 0}, "--num-flows must be 1 or more, not 0"),
    ({"num_threads": 0}, "--num-threads must be 1 or more, not 0"),
    ({"num_clients": 0}, "--num-clients must be 1 or more, not 0"),
    ({"num_ports": -1}, "--num-ports must be 1 or more, not -1"),
    ({"maxevents": 0}, "--maxevents must be 1 or more, not 0"),
    ({"suicide_length": -1}, "--suicide-length must be 0 or more, not -1"),
    ({"warmup": -0.5}, "--warmup must be 0 or more, not -0.5"),
    ({"interval": 0.0}, "--interval must be above 0 seconds, not 0"),
    ({"listen_backlog": 129}, "--listen-backlog 129 is above net.core.somaxconn, 128"),
    ({"port": 65000, "num_ports": 600}, "ends at 65599, above 65535: use at most 536"),
    ({"port": 12865, "num_ports": 2}, "--control-port 12866 is among the data ports 12865 to 12866"),
    ({"client": True, "source_port": 0}, "--source-port must be 1 to 65535, not 0"),
    ({"client": True, "source_port": 65535, "num_flows": 2}, "ends at 65536, above 65535: start at 65534 or lower"),
    ({"client": True, "source_port": 5, "local_hosts": ("::1",)}, "--source-port and --local-hosts exclude"),
    ({"client": True, "source_port": 5, "ports": "fourtuple"}, "--source-port and --ports fourtuple exclude"),
    ({"client": True, "num_threads": 2}, "--num-flows 1 is below --num-threads 2: each thread needs a flow"),
    ({"client": True, "local_hosts": ("::1", "::2")}, "--num-flows 1 is below the 2 addresses of --local-hosts"),
    ({"local_hosts": ("::1",)}, "--local-hosts is for clients alone (-c)"),
    ({"wait_start": 1}, "--wait-start is for clients alone (-c)"),
    ({"ports": "fourtuple"}, "--ports fourtuple is for clients alone (-c)"),
    ({"rate": 5.0}, "--rate is for clients alone (-c)"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_the_flag_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="--") as raised:
        check(Crr(**options), somaxconn=128)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_threads": 8},
        {"listen_backlog": 128},
        {"client": True, "num_threads": 2, "num_flows": 2, "local_hosts": ("::1", "::2"), "ports": "fourtuple"},
        {"client": True, "source_port": 65534, "num_flows": 2},
    ],
)
def test_what_is_right_passes(options: dict[str, Any]) -> None:
    check(Crr(**options), somaxconn=128)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test_length": 0}, "--test-length must be at least 1 second, or -1 for a transaction, not 0"),
        ({"request_size": 0}, "--request-size must be 1 or more, not 0"),
        ({"response_size": -1}, "--response-size must be 1 or more, not -1"),
        ({"log_rtt": "x", "logrtt_entries_per_flow": 0}, "--logrtt-entries-per-flow must be 1 or more, not 0"),
    ],
)
def test_transactions_have_rules_of_their_own(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="--") as raised:
        TcpCrr(Crr(**options))
    assert message in str(raised.value)


@pytest.mark.parametrize("others", [{"delay": 1}, {"rate": 1.0}])
def test_one_flag_alone_says_when_transactions_start(others: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"--noburst excludes --delay and --rate"):
        TcpRr(Rr(noburst=1, **others))
    with pytest.raises(ValueError, match=r"--delay and --rate exclude each other"):
        TcpRr(Rr(delay=1, rate=1.0))
