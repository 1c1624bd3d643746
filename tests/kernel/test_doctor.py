"""``fourtuple doctor`` where loopback, over which the probes connect, is down."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from fourtuple.cli.main import main
from fourtuple.linux import sockopt
from fourtuple.linux.syscalls import CLONE_NEWNET, unshare
from fourtuple.ports import Strategy, best_strategy

pytestmark = pytest.mark.usefixtures("netns")

# What the kernel answers ENOPROTOOPT to.
NO_SUCH_OPTION = 9999


@pytest.fixture(autouse=True)
def loopback_never_up(netns: object) -> None:
    """Be in a network where nobody has brought the interface up. ``netns`` leads back home."""
    unshare(CLONE_NEWNET)


def doctor(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["doctor", *arguments])


def test_loopback_is_what_is_lacking() -> None:
    result = doctor()
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    assert "IPv4 loopback LACKING Network is unreachable cost: connections to 127.0.0.1 fail" in words
    assert "IPv6 loopback LACKING Cannot assign requested address cost: connections to ::1 fail" in words
    assert "one-port range, IPv4 ok accepted; not tried with connect(), for want of loopback" in words
    assert max(len(line) for line in result.output.splitlines()) <= 80


def test_the_strategy_is_what_can_still_be_tried_and_the_librarys_own() -> None:
    report = json.loads(doctor("--json").output)
    assert report["strategy"] == best_strategy().value == "range"
    assert report["verdict"].endswith("; nothing was connected to try it, for want of loopback")
    lacking = {name for name, feature in report["features"].items() if not feature["present"]}
    assert {"IPv4 loopback", "IPv6 loopback"} <= lacking
    assert not {"one-port range, IPv4", "address-only bind, IPv4", "freebind, IPv4"} & lacking
    assert all(feature["present"] is (feature["cost"] == "") for feature in report["features"].values())


def test_without_a_one_port_range_the_kernel_chooses_and_the_status_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockopt, "IP_LOCAL_PORT_RANGE", NO_SUCH_OPTION)
    result = doctor("--json")
    assert result.exit_code == 1
    report = json.loads(result.output)
    assert report["strategy"] == best_strategy().value == Strategy.KERNEL.value
    assert "for want of loopback" in report["verdict"]
    assert report["features"]["shared bind, IPv4"]["detail"] == "not tried, for want of loopback"
