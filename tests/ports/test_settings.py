"""The cache of the kernel's settings: read seldom enough, noticed soon enough, one object while nothing changes."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from fourtuple.linux import sysctl
from fourtuple.ports.settings import KEPT_FOR, Settings, SettingsCache, read_settings
from fourtuple.ports.timewait import TwReuse
from ports.fakes import SETTINGS, Sysctls


def test_one_reading_serves_for_a_while() -> None:
    sysctls = Sysctls()
    cache = SettingsCache(read=sysctls)
    assert cache.at(5.0) == SETTINGS
    cache.at(5.0 + 0.99 * KEPT_FOR)
    assert sysctls.readings == 1
    cache.at(5.0 + KEPT_FOR)
    assert sysctls.readings == 2


def test_the_first_use_reads_whatever_the_clock_says() -> None:
    sysctls = Sysctls()
    assert SettingsCache(read=sysctls).at(0.0) == SETTINGS
    assert sysctls.readings == 1


def test_nothing_is_read_before_the_first_use() -> None:
    sysctls = Sysctls()
    SettingsCache(read=sysctls)
    assert sysctls.readings == 0


def test_an_unchanged_reading_is_the_same_object() -> None:
    cache = SettingsCache(read=Sysctls())
    before = cache.at(0.0)
    assert cache.at(10.0) is before
    assert cache.fresh(10.0) is before


def test_a_change_is_noticed() -> None:
    sysctls = Sysctls()
    cache = SettingsCache(read=sysctls)
    before = cache.at(0.0)
    sysctls.settings = replace(SETTINGS, high=SETTINGS.high + 1)
    assert cache.at(0.5 * KEPT_FOR) is before
    after = cache.at(KEPT_FOR)
    assert after == sysctls.settings
    assert cache.at(2 * KEPT_FOR) is after


def test_a_fresh_reading_is_made_at_once_and_serves_for_a_while() -> None:
    sysctls = Sysctls()
    cache = SettingsCache(read=sysctls)
    cache.at(0.0)
    sysctls.settings = replace(SETTINGS, timestamps=False)
    assert cache.fresh(0.5 * KEPT_FOR) == sysctls.settings
    cache.at(1.25 * KEPT_FOR)
    assert sysctls.readings == 2


def test_where_nothing_can_be_read_the_last_reading_serves() -> None:
    sysctls = Sysctls()
    cache = SettingsCache(read=sysctls)
    sysctls.error = OSError(errno.EMFILE, "Too many open files")
    with pytest.raises(OSError, match="Too many open files"):
        cache.at(0.0)
    sysctls.error = None
    before = cache.at(0.0)
    sysctls.error = OSError(errno.EMFILE, "Too many open files")
    assert cache.at(KEPT_FOR) is before
    assert cache.fresh(KEPT_FOR) is before
    sysctls.error = None
    sysctls.settings = replace(SETTINGS, timestamps=False)
    assert cache.at(KEPT_FOR) == sysctls.settings


@pytest.mark.parametrize(("timestamps", "on"), [(0, False), (1, True), (2, True)])
@pytest.mark.parametrize("delay", [None, 0.25])
def test_a_reading_has_each_sysctl_in_its_place(
    monkeypatch: pytest.MonkeyPatch, timestamps: int, on: bool, delay: float | None
) -> None:
    monkeypatch.setattr(sysctl, "local_port_range", lambda: sysctl.PortRange(1024, 2047))
    monkeypatch.setattr(sysctl, "reserved_ports", lambda: b"bitmap")
    monkeypatch.setattr(sysctl, "tcp_tw_reuse", lambda: 2)
    monkeypatch.setattr(sysctl, "tcp_tw_reuse_delay", lambda: delay)
    monkeypatch.setattr(sysctl, "tcp_timestamps", lambda: timestamps)
    assert read_settings() == Settings(
        low=1024, high=2047, reserved=b"bitmap", tw_reuse=TwReuse.LOOPBACK, tw_reuse_delay=delay, timestamps=on
    )
