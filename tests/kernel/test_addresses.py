"""Addresses of interfaces and of routes, in namespaces with more than loopback."""

from __future__ import annotations

import errno
import socket
from collections.abc import Generator

import pytest

from fourtuple.linux import sockopt
from fourtuple.linux.addresses import family_of, interface_addresses, is_local, local_addresses, source_for
from fourtuple.linux.netns import network_namespace
from kernel.links import HERE, THERE, add_local_prefix, ip, linked_namespaces

# Every test here starts from a namespace of its own, so that none touches the machine's network.
pytestmark = pytest.mark.usefixtures("netns")


@pytest.fixture
def cable(netns: object) -> Generator[None, None, None]:
    with linked_namespaces((10000, 29999)):
        yield


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "fe80::1%2"])
def test_a_literal_tells_its_family(host: str) -> None:
    (found, *_), *_ = socket.getaddrinfo(host, 0, flags=socket.AI_NUMERICHOST)
    assert family_of(host) == found


def test_loopback_has_its_addresses() -> None:
    assert interface_addresses("lo", socket.AF_INET) == ["127.0.0.1"]
    assert interface_addresses("lo", socket.AF_INET6) == ["::1"]


def test_addresses_are_those_of_the_calling_threads_namespace() -> None:
    ip("addr add 10.1.2.3/32 dev lo")
    assert "10.1.2.3" in interface_addresses("lo", socket.AF_INET)
    with network_namespace():
        assert interface_addresses("lo", socket.AF_INET) == ["127.0.0.1"]


def test_labels_belong_to_their_interface() -> None:
    ip("addr add 10.1.2.3/32 dev lo label lo:other")
    assert interface_addresses("lo", socket.AF_INET) == ["127.0.0.1", "10.1.2.3"]


def test_an_interface_without_addresses_has_none() -> None:
    ip("link add veth0 type veth peer name veth1")
    assert interface_addresses("veth0", socket.AF_INET) == []


def test_a_missing_interface_is_named_with_those_there_are() -> None:
    with pytest.raises(OSError, match=r"'eth7': there are lo") as raised:
        interface_addresses("eth7", socket.AF_INET)
    assert raised.value.errno == errno.ENODEV


@pytest.mark.parametrize(
    ("family", "destination", "source"),
    [
        (socket.AF_INET, ("127.9.9.9", 80), "127.0.0.1"),
        (socket.AF_INET6, ("::1", 80), "::1"),
        (socket.AF_INET6, ("::ffff:127.9.9.9", 80), "::ffff:127.0.0.1"),
        (socket.AF_INET, (THERE[4], 80), HERE[4]),
        (socket.AF_INET6, (THERE[6], 80), HERE[6]),
    ],
)
@pytest.mark.usefixtures("cable")
def test_routing_picks_the_source(family: int, destination: tuple[str, int], source: str) -> None:
    assert source_for(family, destination) == source


@pytest.mark.usefixtures("cable")
def test_link_local_addresses_carry_their_interface() -> None:
    index = socket.if_nametoindex("veth0")
    ip("addr add fe80::7/64 dev veth0 nodad")
    assert f"fe80::7%{index}" in interface_addresses("veth0", socket.AF_INET6)
    source = source_for(socket.AF_INET6, ("fe80::8", 80, 0, index))
    assert source == f"fe80::7%{index}"
    assert [address[2:] for *_, address in socket.getaddrinfo(source, 0)] == [(0, index)] * 3


@pytest.mark.usefixtures("cable")
def test_the_addresses_of_all_interfaces_are_listed() -> None:
    assert set(local_addresses(socket.AF_INET)) == {"127.0.0.1", HERE[4]}
    assert {"::1", HERE[6]} <= set(local_addresses(socket.AF_INET6))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", HERE[4], HERE[6]])
@pytest.mark.usefixtures("cable")
def test_what_this_machine_has_is_local(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize("host", ["198.51.100.7", "2001:db8::7", "10.77.0.255", THERE[4], THERE[6]])
@pytest.mark.usefixtures("cable")
def test_foreign_and_broadcast_addresses_are_not_local(host: str) -> None:
    assert not is_local(host)


def test_no_route_is_the_kernels_error() -> None:
    with pytest.raises(OSError, match="Network is unreachable") as raised:
        source_for(socket.AF_INET, ("192.0.2.1", 80))
    assert raised.value.errno == errno.ENETUNREACH


def test_a_local_prefix_gives_freebind_sources() -> None:
    add_local_prefix("2001:db8:7::/64")
    with (
        socket.create_server(("::1", 0), family=socket.AF_INET6) as server,
        socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock,
    ):
        sockopt.set_freebind(sock)
        sockopt.set_bind_address_no_port(sock)
        sock.bind(("2001:db8:7::abcd", 0))
        sock.connect(server.getsockname())
        assert sock.getsockname()[0] == "2001:db8:7::abcd"
