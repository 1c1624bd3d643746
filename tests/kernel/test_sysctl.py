"""Settings of the live kernel, per namespace."""

from __future__ import annotations

import errno

import pytest

from fourtuple.errors import Unsupported
from fourtuple.linux import sysctl

pytestmark = pytest.mark.usefixtures("netns")

RESERVED = "net.ipv4.ip_local_reserved_ports"


def bitmap(ports: range) -> bytes:
    return sum(1 << port for port in ports).to_bytes(8192, "little")


@pytest.mark.parametrize(
    "ports",
    [
        pytest.param(range(0), id="none"),
        pytest.param(range(1, 65536, 2), id="every other one: 191 kB of text"),
        pytest.param(range(10000, 12000, 2), id="more than a page"),
        pytest.param(range(65535, 65536), id="the last one"),
        pytest.param(range(1, 65536), id="all in one range"),
    ],
)
def test_reserved_ports_are_read_and_written_whole(ports: range) -> None:
    sysctl.write(RESERVED, "7-9")
    sysctl.write(RESERVED, ",".join(map(str, ports)))
    assert sysctl.reserved_ports() == bitmap(ports)


def test_the_longest_list_fits() -> None:
    ports = [port for port in range(1, 65536) if port % 3]
    sysctl.write(RESERVED, ",".join(map(str, ports)))
    text = sysctl.read(RESERVED)
    assert text.startswith("1-2,4-5,")
    assert text.endswith(",65533-65534")
    assert sysctl.count_ports(sysctl.reserved_ports(), sysctl.PortRange(0, 65535)) == len(ports)


@pytest.mark.port_range(20000, 20099)
def test_usable_ports_are_the_range_less_the_reserved() -> None:
    assert sysctl.local_port_range() == (20000, 20099)
    assert sysctl.local_port_range().size == 100
    sysctl.write(RESERVED, "19990-20009,20099-20105,30000")
    assert sysctl.count_usable_ports() == 89


def test_settings_of_time_wait_are_read() -> None:
    for name, value in (("tcp_tw_reuse", 1), ("tcp_timestamps", 2)):
        sysctl.write(f"net.ipv4.{name}", value)
    assert (sysctl.tcp_tw_reuse(), sysctl.tcp_timestamps()) == (1, 2)


def test_the_reuse_delay_is_in_seconds_or_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "net.ipv4.tcp_tw_reuse_delay"
    if sysctl.exists(name):
        sysctl.write(name, 1500)
        assert sysctl.tcp_tw_reuse_delay() == 1.5

    def no_such_setting(name: str) -> bool:
        return False

    monkeypatch.setattr(sysctl, "exists", no_such_setting)
    assert sysctl.tcp_tw_reuse_delay() is None


def test_a_dot_in_an_interface_name_is_a_slash() -> None:
    with pytest.raises(Unsupported, match=r"eth0/100"):
        sysctl.read("net.ipv4.conf.eth0/100.forwarding")
    assert sysctl.read("net.ipv4.conf.lo.forwarding") in {"0", "1"}


def test_a_missing_setting_is_named() -> None:
    assert not sysctl.exists("net.ipv4.no_such")
    with pytest.raises(Unsupported, match=r"sysctl net\.ipv4\.no_such") as raised:
        sysctl.read("net.ipv4.no_such")
    assert raised.value.errno == errno.ENOENT
    with pytest.raises(Unsupported, match=r"sysctl net\.ipv4\.no_such"):
        sysctl.write("net.ipv4.no_such", 1)


def test_a_refused_value_is_quoted() -> None:
    with pytest.raises(OSError, match=r"ip_local_port_range = 9 8") as raised:
        sysctl.write("net.ipv4.ip_local_port_range", "9 8")
    assert raised.value.errno == errno.EINVAL
