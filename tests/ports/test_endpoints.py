"""Addresses: one spelling for each, and the form that a socket of either family takes."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.ports import endpoints

IPV4 = st.ip_addresses(v=4)
IPV6 = st.ip_addresses(v=6).filter(lambda address: IPv6Address(int(address)).ipv4_mapped is None)


@given(IPV4)
def test_an_ipv4_address_and_its_mapped_spellings_are_one(address: IPv4Address) -> None:
    mapped = IPv6Address(0xFFFF << 32 | int(address))
    for spelling in (str(address), f"::ffff:{address}", f"::FFFF:{address}", mapped.exploded):
        assert endpoints.canonical(spelling) == str(address)


@given(IPV6)
def test_the_spellings_of_an_ipv6_address_are_one(address: IPv6Address) -> None:
    for spelling in (str(address), address.exploded, address.exploded.upper()):
        assert endpoints.canonical(spelling) == str(address)


def test_a_zone_is_kept() -> None:
    assert endpoints.canonical("FE80:0::1%eth0") == "fe80::1%eth0"


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "192.0.2.256", "1.2.3.4%eth0", "::1::", "fe80::1%", "%eth0"]
)
def test_only_literals_have_a_canonical_form(text: str) -> None:
    with pytest.raises(ValueError, match="IPv4 or IPv6 address"):
        endpoints.canonical(text)


@given(IPV4 | IPV6)
def test_what_is_bound_to_a_socket_is_the_address_it_stands_for(address: IPv4Address | IPv6Address) -> None:
    for_ipv6 = endpoints.for_family(socket.AF_INET6, str(address))
    assert endpoints.is_literal(socket.AF_INET6, for_ipv6)
    assert endpoints.canonical(for_ipv6) == str(address)
    assert endpoints.for_family(socket.AF_INET, str(address)) == str(address)


@pytest.mark.parametrize(
    ("family", "host", "address"),
    [
        (socket.AF_INET, "", ("", 80)),
        (socket.AF_INET, "192.0.2.1", ("192.0.2.1", 80)),
        (socket.AF_INET6, "192.0.2.1", ("::ffff:192.0.2.1", 80)),
        (socket.AF_INET6, "2001:db8::1", ("2001:db8::1", 80)),
        (socket.AF_INET6, "fe80::1%3", ("fe80::1", 80, 0, 3)),
        (socket.AF_INET6, "fe80::1%eth0", ("fe80::1", 80, 0, 7)),
    ],
)
def test_bind_takes_a_zone_as_its_scope(
    monkeypatch: pytest.MonkeyPatch, family: int, host: str, address: endpoints.SocketAddress
) -> None:
    monkeypatch.setattr(socket, "if_nametoindex", {"eth0": 7}.__getitem__)
    assert endpoints.to_bind(family, host, 80) == address


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_any_address_stays_any(family: int) -> None:
    assert endpoints.for_family(family, "") == ""


@given(IPV4 | IPV6)
def test_a_literal_is_one_in_its_own_family_only(address: IPv4Address | IPv6Address) -> None:
    assert endpoints.is_literal(socket.AF_INET, str(address)) == (address.version == 4)
    assert endpoints.is_literal(socket.AF_INET6, str(address)) == (address.version == 6)


@pytest.mark.parametrize("host", ["", "localhost", "127.1", "::1%lo", "127.0.0.1\0", "\udc80"])
def test_what_is_no_literal(host: str) -> None:
    assert not endpoints.is_literal(socket.AF_INET, host)
    assert not endpoints.is_literal(socket.AF_INET6, host)
    assert endpoints.literal_address(host, 80) is None


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("192.0.2.1", (socket.AF_INET, ("192.0.2.1", 80))),
        ("2001:db8::1", (socket.AF_INET6, ("2001:db8::1", 80, 0, 0))),
        ("::ffff:192.0.2.1", (socket.AF_INET6, ("::ffff:192.0.2.1", 80, 0, 0))),
    ],
)
def test_a_literal_tells_its_family(host: str, found: tuple[int, endpoints.SocketAddress]) -> None:
    assert endpoints.literal_address(host, 80) == found


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.255.3.4", True),
        ("::1", True),
        ("::1%lo", True),
        ("128.0.0.1", False),
        ("0.0.0.0", False),
        ("::", False),
        ("fe80::1%lo", False),
    ],
)
def test_loopback_addresses(host: str, loopback: bool) -> None:
    assert endpoints.is_loopback(host) == loopback


@pytest.mark.parametrize(("host", "any_"), [("0.0.0.0", True), ("::", True), ("0.0.0.1", False), ("::1%lo", False)])
def test_the_addresses_that_mean_any(host: str, any_: bool) -> None:
    assert endpoints.is_unspecified(host) == any_


def test_ipv6_stands_in_brackets_before_a_port() -> None:
    assert endpoints.text("192.0.2.1", 80) == "192.0.2.1:80"
    assert endpoints.text("2001:db8::1", 80) == "[2001:db8::1]:80"
