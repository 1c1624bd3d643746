from __future__ import annotations

import errno
import ipaddress

import pytest

from fourtuple.bench.demo import arena
from fourtuple.bench.demo.arena import SPARE_FILES, Family, Settings, host_arena, possible_arena, private_arena
from fourtuple.errors import NamespacesRefused, Unsupported
from fourtuple.linux.sysctl import PortRange
from fourtuple.load.places import Loopback, PrivateNetwork

SETTINGS = Settings(levels=(50.0, 99.0), ports=20_000)


def allow_files(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(arena, "raise_file_limit", lambda: limit)


def test_a_private_range_is_as_large_as_asked_where_it_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_files(monkeypatch, 100_000)
    found = private_arena(Family.IPV6, SETTINGS)
    assert found.ports == PortRange(10000, 29999)
    assert found.kernel == found.fourtuple
    assert isinstance(found.kernel, PrivateNetwork)
    assert found.kernel.loopback.host == "::1"


@pytest.mark.parametrize("limit", [4096, 1024, 1023, 1022, 121])
def test_a_low_limit_of_open_files_makes_the_range_smaller(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    allow_files(monkeypatch, limit)
    found = private_arena(Family.IPV4, SETTINGS)
    assert found.ports.size == found.ladder.size < 20_000
    assert found.ports.size % 2 == 0
    assert found.ladder.beyond == ()
    assert 0 <= limit - SPARE_FILES - found.ladder.reached[-1].held <= 2


@pytest.mark.parametrize("make", [private_arena, host_arena])
def test_too_low_a_limit_is_an_error_with_the_remedy(monkeypatch: pytest.MonkeyPatch, make: object) -> None:
    allow_files(monkeypatch, 64)
    assert callable(make)
    with pytest.raises(Unsupported, match=r"64 open files.*ulimit -n") as raised:
        make(Family.IPV4, SETTINGS)
    assert raised.value.errno == errno.EMFILE


def test_on_the_host_its_own_range_stands_and_levels_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_files(monkeypatch, 20_000)
    monkeypatch.setattr(arena, "local_port_range", lambda: PortRange(32768, 60999))
    found = host_arena(Family.IPV4, SETTINGS)
    assert found.ports.size == found.ladder.size == 28232
    assert [level.percent for level in found.ladder.beyond] == [99.0]
    assert not found.private


def test_on_the_host_the_destinations_differ_and_are_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow_files(monkeypatch, 20_000)
    found = host_arena(Family.IPV4, SETTINGS)
    hosts = [place.host for place in (found.kernel, found.fourtuple) if isinstance(place, Loopback)]
    assert len(set(hosts)) == 2
    assert all(ipaddress.ip_address(host).is_loopback for host in hosts)


def test_the_arena_is_private_where_namespaces_are_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "rehearse_namespaces", lambda: None)
    assert possible_arena() == (private_arena, None)


def test_the_arena_is_the_hosts_where_namespaces_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = NamespacesRefused(errno.ENOSPC, "raise user.max_net_namespaces")

    def refuse() -> None:
        raise refusal

    monkeypatch.setattr(arena, "rehearse_namespaces", refuse)
    assert possible_arena() == (host_arena, refusal)
