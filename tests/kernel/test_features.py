"""The probes against the live kernel, with features there, switched off and feigned."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from fourtuple.linux import facilities, features, limits, sockopt, sysctl
from fourtuple.linux.features import Feature
from fourtuple.linux.syscalls import CLONE_NEWNET, unshare
from kernel.links import ip

pytestmark = pytest.mark.usefixtures("netns")

FAMILY = pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
# What the kernel answers ENOPROTOOPT to.
NO_SUCH_OPTION = 9999


def lacking(feature: Feature, detail: str) -> bool:
    assert detail in feature.detail
    assert feature.cost
    return not feature.present


def test_all_is_tried_and_nothing_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "file_limit", lambda: (1024, 20000))
    for feature in features.connection_features():
        assert (feature.present, feature.cost) == (True, ""), feature
    for table in ("tcp", "tcp6"):
        lines = Path(f"/proc/thread-self/net/{table}").read_text().splitlines()
        assert len(lines) == 1, "only the heading"


def test_names_are_unique() -> None:
    names = [feature.name for feature in features.connection_features()]
    names += [feature.name for feature in facilities.kernel_facilities()]
    assert len(set(names)) == len(names)


@FAMILY
def test_missing_options_are_noticed(monkeypatch: pytest.MonkeyPatch, family: int) -> None:
    assert features.has_local_port_range(family)
    monkeypatch.setattr(sockopt, "IP_LOCAL_PORT_RANGE", NO_SUCH_OPTION)
    monkeypatch.setattr(sockopt, "IP_BIND_ADDRESS_NO_PORT", NO_SUCH_OPTION)
    assert not features.has_local_port_range(family)
    assert lacking(features.local_port_range(family), "refused")
    assert lacking(features.bind_address_no_port(family), "Protocol not available")


@FAMILY
def test_an_option_that_is_not_honoured_is_noticed(monkeypatch: pytest.MonkeyPatch, family: int) -> None:
    # The kernel ignores bounds outside its own range, which the probe is made to mistake.
    monkeypatch.setattr(sysctl, "local_port_range", lambda: sysctl.PortRange(40000, 40100))
    assert lacking(features.local_port_range(family), "another port")


@FAMILY
def test_an_address_bind_that_takes_a_port_is_noticed(monkeypatch: pytest.MonkeyPatch, family: int) -> None:
    def leave(sock: socket.socket) -> None:
        pass

    monkeypatch.setattr(sockopt, "set_bind_address_no_port", leave)
    assert lacking(features.bind_address_no_port(family), "took a port")


@FAMILY
def test_few_free_ports_are_enough(family: int) -> None:
    sysctl.write("net.ipv4.ip_local_reserved_ports", "10000-29990")
    assert features.local_port_range(family).present
    assert features.shared_bind(family).present
    assert features.has_shared_bind(family)


@FAMILY
def test_no_free_port_is_no_crash(family: int) -> None:
    sysctl.write("net.ipv4.ip_local_reserved_ports", "10000-29999")
    assert features.loopback(family).present
    assert not features.local_port_range(family).present
    assert not features.has_shared_bind(family)
    assert lacking(features.usable_ports(), "every port is reserved")


def test_reserved_ports_are_counted() -> None:
    assert features.usable_ports().detail == "10000-29999: 20000 ports"
    sysctl.write("net.ipv4.ip_local_reserved_ports", "10000-10009")
    assert features.usable_ports().detail == "10000-29999: 19990 ports (10 more are reserved)"


def test_ipv6_switched_off_is_noticed() -> None:
    sysctl.write("net.ipv6.conf.all.disable_ipv6", 1)
    assert lacking(features.loopback(socket.AF_INET6), "Cannot assign requested address")
    assert features.loopback(socket.AF_INET).present
    assert "not tried with connect()" in features.local_port_range(socket.AF_INET6).detail
    assert "connect() uses that port" in features.local_port_range(socket.AF_INET).detail


def test_without_loopback_what_is_accepted_counts_and_nothing_hangs() -> None:
    ip("link set lo down")
    # Its address is still there, so that connect() waits for an answer.
    assert lacking(features.loopback(socket.AF_INET), "timed out")
    assert lacking(features.shared_bind(socket.AF_INET), "not tried")
    assert not features.has_shared_bind()
    for probe in (features.local_port_range, features.bind_address_no_port):
        feature = probe(socket.AF_INET)
        assert (feature.present, feature.cost) == (True, "")
        assert "not tried with connect()" in feature.detail


@FAMILY
def test_without_loopback_what_is_refused_is_lacking(monkeypatch: pytest.MonkeyPatch, family: int) -> None:
    unshare(CLONE_NEWNET)
    monkeypatch.setattr(sockopt, "IP_LOCAL_PORT_RANGE", NO_SUCH_OPTION)
    monkeypatch.setattr(sockopt, "IP_BIND_ADDRESS_NO_PORT", NO_SUCH_OPTION)
    assert lacking(features.local_port_range(family), "refused")
    assert lacking(features.bind_address_no_port(family), "Protocol not available")


def test_time_wait_reuse_follows_its_settings() -> None:
    sysctl.write("net.ipv4.tcp_tw_reuse", 1)
    sysctl.write("net.ipv4.tcp_tw_reuse_delay", 1500)
    assert features.time_wait_reuse().detail == "mode 1: 1.5 s everywhere"
    sysctl.write("net.ipv4.tcp_tw_reuse", 2)
    assert features.time_wait_reuse().detail == "mode 2: 1.5 s on loopback, 60 s elsewhere"
    sysctl.write("net.ipv4.tcp_timestamps", 0)
    assert lacking(features.time_wait_reuse(), "tcp_timestamps = 0")
    sysctl.write("net.ipv4.tcp_tw_reuse", 0)
    assert lacking(features.time_wait_reuse(), "tcp_tw_reuse = 0")


def test_a_file_limit_below_the_ports_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "file_limit", lambda: (1024, 5000))
    feature = features.file_limit()
    assert lacking(feature, "5000 at most")
    assert "25%" in feature.cost


@pytest.mark.parametrize(
    "probe",
    [
        facilities.network_namespaces,
        facilities.socket_lookup,
        facilities.seccomp_notification,
        facilities.descriptor_sharing,
        pytest.param(facilities.bpf_connect_hook, marks=pytest.mark.root),
    ],
)
def test_facilities_of_this_kernel_are_found(probe: Callable[[], Feature]) -> None:
    feature = probe()
    assert feature.present, feature


def test_cgroup2_is_found_where_it_is_mounted() -> None:
    mounted = " cgroup2 " in Path("/proc/self/mounts").read_text()
    assert facilities.cgroup2().present is mounted


def test_a_facility_that_is_lacking_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in ("_SECCOMP_RET_USER_NOTIF", "_BPF_PROG_LOAD", "_SOCK_DIAG_BY_FAMILY"):
        monkeypatch.setattr(facilities, number, 999)
    assert lacking(facilities.seccomp_notification(), "seccomp: ")
    assert lacking(facilities.bpf_connect_hook(), "bpf: ")
    assert lacking(facilities.socket_lookup(), "Invalid argument")
