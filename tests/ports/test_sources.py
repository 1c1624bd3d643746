"""What ``source=`` may name: addresses, networks of every size, interfaces; without a kernel to ask."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fourtuple.ports import sources
from fourtuple.ports.endpoints import canonical
from fourtuple.ports.sources import AT_MOST, Sources, parse_sources

Network = IPv4Network | IPv6Network

ETH0 = ["192.0.2.1", "2001:db8::1", "fe80::1%2"]
ETH1 = ["198.51.100.1", "192.0.2.9", "169.254.7.7"]
INTERFACES = {"eth0": ETH0, "eth1": ETH1, "eth2": ["fe80::2%4"], "eth3": []}


def of_family(family: int, addresses: list[str]) -> list[str]:
    return [address for address in addresses if (":" in address) == (family == socket.AF_INET6)]


@pytest.fixture(autouse=True)
def interfaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a few interfaces, and with no kernel."""

    def interface_addresses(name: str, family: int) -> list[str]:
        if name not in INTERFACES:
            raise OSError(errno.ENODEV, f"no interface is called {name!r}: there are {', '.join(INTERFACES)}")
        return of_family(family, INTERFACES[name])

    def local_addresses(family: int) -> list[str]:
        return [address for name in INTERFACES for address in interface_addresses(name, family)]

    monkeypatch.setattr(sources, "interface_addresses", interface_addresses)
    monkeypatch.setattr(sources, "local_addresses", local_addresses)


def set_addresses(monkeypatch: pytest.MonkeyPatch, addresses: list[str]) -> None:
    """Let interfaces have these, of whatever family is asked for."""

    def local_addresses(family: int) -> list[str]:
        return addresses

    monkeypatch.setattr(sources, "local_addresses", local_addresses)


def nothing(host: str) -> bool:
    return False


def everything(host: str) -> bool:
    return True


def unasked(host: str) -> bool:
    raise AssertionError(f"nobody needs to know whether {host} is local")


def within(*networks: str) -> Callable[[str], bool]:
    return lambda host: any(ip_address(host) in ip_network(network) for network in networks)


def all_of(found: Sources) -> tuple[str, ...]:
    return found.ipv4 + found.ipv6


# Addresses.


@pytest.mark.parametrize("freebind", [True, False])
def test_none_leaves_it_to_routing(freebind: bool) -> None:
    found = parse_sources(None, freebind=freebind)
    assert (found.ipv4, found.ipv6, found.freebind) == ((), (), freebind)
    assert found.any


@pytest.mark.parametrize(
    ("text", "ipv4", "ipv6"),
    [
        ("192.0.2.1", ("192.0.2.1",), ()),
        ("2001:DB8:0::1", (), ("2001:db8::1",)),
        ("::ffff:192.0.2.1", ("192.0.2.1",), ()),
        ("fe80::1%eth0", (), ("fe80::1%eth0",)),
    ],
)
def test_an_address_is_taken_as_it_stands(text: str, ipv4: tuple[str, ...], ipv6: tuple[str, ...]) -> None:
    found = parse_sources(text, local=unasked)
    assert (found.ipv4, found.ipv6) == (ipv4, ipv6)
    assert not found.any


def test_a_list_keeps_its_order_and_drops_what_it_says_twice() -> None:
    found = parse_sources(
        ["192.0.2.9", "2001:db8::2", "192.0.2.1", "::ffff:192.0.2.9", "2001:db8:0::2", "dev:eth0", "192.0.2.8/29"],
        local=nothing,
    )
    assert found.ipv4 == ("192.0.2.9", "192.0.2.1")
    assert found.ipv6 == ("2001:db8::2", "2001:db8::1")


def test_the_destinations_family_decides_which_serve() -> None:
    found = Sources(ipv4=("192.0.2.1",), ipv6=("2001:db8::1", "2001:db8::2"))
    assert found.towards("198.51.100.1") == ("192.0.2.1",)
    assert found.towards("2001:db8::9") == ("2001:db8::1", "2001:db8::2")


def test_sources_made_before_are_taken_as_they_are() -> None:
    made = Sources(ipv4=("192.0.2.1",))
    assert parse_sources(made) is made
    free = Sources(ipv4=("192.0.2.1",), freebind=True)
    assert parse_sources(free) is free
    assert parse_sources(free, freebind=True) is free


def test_freebind_holds_for_sources_made_before_too() -> None:
    found = parse_sources(Sources(ipv4=("192.0.2.1",), ipv6=("::1",)), freebind=True)
    assert (found.ipv4, found.ipv6, found.freebind) == (("192.0.2.1",), ("::1",), True)


@pytest.mark.parametrize("freebind", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "localhost",
        "192.0.2.256",
        "192.0.2.0/33",
        "2001:db8::/129",
        "192.0.2.0/-1",
        "192.0.2.0/24/24",
        "/24",
        "fe80::/64%eth0",
        "1.2.3.4%eth0",
        "eth0",
        "DEV:eth0",
    ],
)
def test_other_text_is_refused_and_quoted(text: str, freebind: bool) -> None:
    for source in (text, ["192.0.2.1", text]):
        with pytest.raises(ValueError, match=r"^source: '") as raised:
            parse_sources(source, freebind=freebind, local=everything)
        assert repr(text) in str(raised.value)


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^source: the list is empty; leave it out to let routing decide$"):
        parse_sources([])


# Interfaces.


def test_an_interface_stands_for_its_addresses_that_need_no_zone() -> None:
    found = parse_sources("dev:eth0", local=unasked)
    assert (found.ipv4, found.ipv6) == (("192.0.2.1",), ("2001:db8::1",))
    assert parse_sources("dev:eth1").ipv4 == ("198.51.100.1", "192.0.2.9")


@pytest.mark.parametrize("name", ["eth2", "eth3"])
def test_an_interface_without_addresses_to_connect_from_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"^source: interface '{name}' has no address to connect from$"):
        parse_sources(f"dev:{name}", freebind=True)


@pytest.mark.parametrize("name", ["", "eth9"])
def test_a_missing_interface_is_refused_with_those_there_are(name: str) -> None:
    expected = f"^source: no interface is called '{name}': there are eth0, eth1, eth2, eth3$"
    with pytest.raises(ValueError, match=expected):
        parse_sources(f"dev:{name}")


def test_other_trouble_with_interfaces_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interface_addresses(name: str, family: int) -> list[str]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(sources, "interface_addresses", interface_addresses)
    with pytest.raises(OSError, match="Too many open files"):
        parse_sources("dev:eth0")


# Networks, drawn from freely.


@pytest.mark.parametrize(
    ("network", "count"),
    [
        ("198.18.0.7/32", 1),
        ("198.18.0.6/31", 2),
        ("198.18.0.4/30", 2),
        ("198.18.0.0/29", 6),
        ("198.18.0.0/24", 254),
        ("198.18.0.0/23", AT_MOST),
        ("198.18.0.0/15", AT_MOST),
        ("2001:db8::/128", 1),
        ("2001:db8::/127", 2),
        ("2001:db8::/126", 4),
        ("2001:db8::/120", AT_MOST),
        ("2001:db8::/119", AT_MOST),
        ("2001:db8::/64", AT_MOST),
        ("2001:db8::/32", AT_MOST),
    ],
)
def test_a_network_gives_all_it_has_up_to_the_bound(network: str, count: int) -> None:
    found = parse_sources(network, freebind=True, local=unasked)
    assert found.freebind
    assert len(set(all_of(found))) == len(all_of(found)) == count
    assert all(ip_address(address) in ip_network(network) for address in all_of(found))


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0"])
def test_the_whole_address_space_is_a_network_too(network: str) -> None:
    addresses = [ip_address(address) for address in all_of(parse_sources(network, freebind=True))]
    # A sixteenth of IPv4 is multicast, which the draw leaves out.
    assert AT_MOST // 2 < len(addresses) <= AT_MOST
    assert not any(address.is_multicast or address.is_unspecified for address in addresses)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    address = draw(st.ip_addresses())
    return ip_network(f"{address}/{draw(st.integers(0, address.max_prefixlen))}", strict=False)


def usable(network: Network) -> list[str]:
    """Every address of a small network that connections can come from."""
    addresses = network.hosts() if isinstance(network, IPv4Network) else network
    return [canonical(str(address)) for address in addresses if not address.is_unspecified]


@given(networks())
def test_whatever_is_drawn_is_a_source_in_the_network(network: Network) -> None:
    assume(not network.is_multicast and not network.is_unspecified)
    found = parse_sources(str(network), freebind=True, local=unasked)
    addresses = all_of(found)
    assert 1 <= len(set(addresses)) == len(addresses) <= AT_MOST
    for address in addresses:
        spelled = f"::ffff:{address}" if network.version == 6 and "." in address else address
        assert ip_address(spelled) in network
        assert canonical(address) == address
    assert not any(":" in address for address in found.ipv4)
    assert all(":" in address for address in found.ipv6)
    if network.num_addresses <= AT_MOST:
        assert addresses == tuple(usable(network))


def test_a_network_of_mapped_addresses_is_one_of_ipv4() -> None:
    found = parse_sources("::ffff:198.18.0.4/126", freebind=True)
    assert (found.ipv4, found.ipv6) == (("198.18.0.4", "198.18.0.5", "198.18.0.6", "198.18.0.7"), ())


def test_an_ipv6_network_of_small_numbers_stays_ipv6() -> None:
    assert parse_sources("::/126", freebind=True).ipv6 == ("::1", "::2", "::3")


def test_a_large_network_is_drawn_from_all_over_and_anew_each_time() -> None:
    one, other = (set(parse_sources("2001:db8::/64", freebind=True).ipv6) for _ in range(2))
    assert one.isdisjoint(other)
    half = ip_network("2001:db8::/65")
    assert {ip_address(address) in half for address in one} == {True, False}


@pytest.mark.parametrize("network", ["224.0.0.0/4", "239.1.2.3/32", "ff00::/8", "0.0.0.0/32", "::/128"])
@pytest.mark.parametrize("freebind", [True, False])
def test_networks_without_unicast_addresses_are_refused(network: str, freebind: bool) -> None:
    with pytest.raises(ValueError, match=f"^source: nothing can connect from {network}, which has no unicast address$"):
        parse_sources(network, freebind=freebind, local=everything)


# Networks, of which this machine's addresses are meant.


@pytest.mark.parametrize(
    ("network", "addresses"),
    [
        ("192.0.2.0/24", ("192.0.2.1", "192.0.2.9")),
        ("192.0.0.0/8", ("192.0.2.1", "192.0.2.9")),
        ("0.0.0.0/0", ("192.0.2.1", "198.51.100.1", "192.0.2.9", "169.254.7.7")),
        ("169.254.0.0/16", ("169.254.7.7",)),
        ("192.0.2.8/29", ("192.0.2.9",)),
        ("192.0.2.9/32", ("192.0.2.9",)),
        ("2001:db8::/64", ("2001:db8::1",)),
        ("::/0", ("2001:db8::1",)),
    ],
)
def test_a_network_stands_for_what_interfaces_have_in_it(network: str, addresses: tuple[str, ...]) -> None:
    assert all_of(parse_sources(network, local=nothing)) == addresses


def test_an_interfaces_address_serves_where_none_would_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first of a network: elsewhere, a network's own address.
    set_addresses(monkeypatch, ["198.18.0.8"])
    assert parse_sources("198.18.0.8/29", local=nothing).ipv4 == ("198.18.0.8",)


def test_what_a_route_makes_local_serves_too() -> None:
    found = parse_sources("127.0.0.0/8", local=within("127.0.0.0/8"))
    assert len(set(found.ipv4)) == len(found.ipv4) == AT_MOST
    assert all(ip_address(address) in ip_network("127.0.0.0/8") for address in found.ipv4)
    assert not found.freebind


def test_of_a_small_network_each_address_is_tried() -> None:
    found = parse_sources("198.18.0.0/24", local=within("198.18.0.128/25"))
    assert found.ipv4 == tuple(f"198.18.0.{host}" for host in range(128, 255))


def test_what_interfaces_have_comes_before_what_was_drawn_and_once() -> None:
    found = parse_sources("192.0.0.0/8", local=everything)
    assert found.ipv4[:2] == ("192.0.2.1", "192.0.2.9")
    assert len(set(found.ipv4)) == len(found.ipv4) == AT_MOST
    assert parse_sources("192.0.2.0/29", local=everything).ipv4 == tuple(f"192.0.2.{host}" for host in range(1, 7))


def test_the_bound_holds_for_what_interfaces_have(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"198.18.{high}.{low}" for high in range(2) for low in range(256)]
    set_addresses(monkeypatch, many)
    assert parse_sources("198.18.0.0/15", local=nothing).ipv4 == tuple(many[:AT_MOST])


@pytest.mark.parametrize("network", ["203.0.113.0/24", "10.0.0.0/8", "203.0.113.5/32", "2001:db8:1::/48", "fe80::/10"])
def test_a_network_of_strangers_is_refused_with_the_way_out(network: str) -> None:
    expected = (
        f"^source: no address of this machine lies in {ip_network(network)}; "
        f"freebind would allow those that no interface has$"
    )
    for source in (network, ["192.0.2.1", network]):
        with pytest.raises(ValueError, match=expected):
            parse_sources(source, local=nothing)
