"""The report on this machine, as a table and as JSON."""

from __future__ import annotations

import json
import os
import socket

import pytest
from click.testing import CliRunner, Result

from fourtuple.cli import doctor as under_test
from fourtuple.cli.main import main
from fourtuple.linux import facilities, features, limits, sockopt, sysctl
from fourtuple.linux.features import Feature

# In a namespace of their own: the probes make connections.
pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("netns")]


def doctor(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["doctor", *arguments])


def no_port_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockopt, "IP_LOCAL_PORT_RANGE", 9999)


def test_every_feature_has_its_line() -> None:
    result = doctor()
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert os.uname().release in lines[0]
    for feature in (*features.connection_features(), *facilities.kernel_facilities()):
        assert sum(line.strip().startswith(feature.name) for line in lines) == 1, feature.name
    assert any(line.startswith("strategy range: ") for line in lines)


def test_eighty_columns_are_enough() -> None:
    assert max(len(line) for line in doctor().output.splitlines()) <= 80


def test_a_lack_is_told_in_words_with_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "file_limit", lambda: (1024, 5000))
    words = " ".join(doctor().output.split())
    assert "open files LACKING 1024 now, 5000 at most, for 20000 ports cost: one process" in words


def test_a_port_space_that_is_not_compiled_must_not_be_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_test, "EXTENSION_SUFFIXES", [".none"])
    words = " ".join(doctor().output.split())
    assert "compiled port space LACKING runs as Python cost:" in words
    assert "threads must not share a connector" in words


def test_json_has_the_same_under_stable_keys() -> None:
    report = json.loads(doctor("--json").output)
    assert list(report) == [
        "kernel",
        "architecture",
        "cpu",
        "cpus",
        "python",
        "features",
        "strategy",
        "verdict",
    ]
    assert report["strategy"] == "range"
    assert set(report["features"]) == {
        "one-port range, IPv4",
        "one-port range, IPv6",
        "address-only bind, IPv4",
        "address-only bind, IPv6",
        "shared bind, IPv4",
        "shared bind, IPv6",
        "freebind, IPv4",
        "freebind, IPv6",
        "IPv4 loopback",
        "IPv6 loopback",
        "TIME_WAIT reuse",
        "local ports",
        "open files",
        "network namespaces",
        "socket look-up",
        "seccomp notification",
        "pidfd_getfd",
        "BPF at connect()",
        "cgroup2",
        "compiled port space",
    }
    for feature in report["features"].values():
        assert set(feature) == {"present", "detail", "cost"}
        assert feature["present"] is (feature["cost"] == "")


def test_the_verdict_falls_back_to_bind(monkeypatch: pytest.MonkeyPatch) -> None:
    no_port_range(monkeypatch)
    result = doctor("--json")
    assert result.exit_code == 0
    assert json.loads(result.output)["strategy"] == "bind"


def test_no_way_to_choose_ports_is_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    no_port_range(monkeypatch)

    def refused(family: int) -> Feature:
        return Feature("shared bind", False, "refused", "no way to choose ports")

    monkeypatch.setattr(features, "shared_bind", refused)
    result = doctor()
    assert result.exit_code == 1
    assert "strategy kernel: " in result.output


def test_a_range_that_is_accepted_but_ignored_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The kernel ignores bounds outside its own range, which the probe is made to mistake.
    monkeypatch.setattr(sysctl, "local_port_range", lambda: sysctl.PortRange(40000, 40100))
    report = json.loads(doctor("--json").output)
    assert not report["features"]["one-port range, IPv4"]["present"]
    assert report["strategy"] == "bind"


def test_the_network_is_as_before() -> None:
    before = socket.if_nameindex(), sysctl.local_port_range(), os.listdir("/proc/self/fd")
    doctor()
    assert (
        socket.if_nameindex(),
        sysctl.local_port_range(),
        os.listdir("/proc/self/fd"),
    ) == before
