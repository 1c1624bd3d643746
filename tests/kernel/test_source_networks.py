"""What a network named as a source stands for on a machine: the addresses it has, by interface or by route."""

from __future__ import annotations

import pytest

from fourtuple.linux.addresses import is_local
from fourtuple.linux.netns import NetworkNamespace
from fourtuple.ports.sources import AT_MOST, parse_sources
from kernel.links import HERE, add_local_prefix, ip

# Every test here starts from a namespace of its own, so that none touches the machine's network.
pytestmark = pytest.mark.usefixtures("netns")


@pytest.fixture
def interface(netns: NetworkNamespace) -> None:
    """Give the test's namespace an interface with addresses of both families."""
    ip("link add veth0 type veth peer name veth1")
    ip(f"addr add {HERE[4]}/28 broadcast + dev veth0")
    ip("addr add 10.78.0.1/32 dev veth0 label veth0:other")
    ip(f"addr add {HERE[6]}/64 dev veth0 nodad")
    ip("link set veth0 up")


@pytest.mark.parametrize("host", ["127.0.0.2", "127.200.3.4", "10.79.1.2", "::ffff:127.0.0.2"])
def test_a_local_route_makes_every_ipv4_address_in_it_local(host: str) -> None:
    ip("route add local 10.79.0.0/16 dev lo")
    assert is_local(host)


def test_the_loopback_network_is_all_local() -> None:
    found = parse_sources("127.0.0.0/8").ipv4
    assert len(found) == AT_MOST
    assert found[0] == "127.0.0.1"
    assert all(is_local(host) for host in found)
    assert parse_sources("127.0.0.8/29").ipv4 == tuple(f"127.0.0.{host}" for host in range(9, 15))


@pytest.mark.parametrize(
    ("network", "ipv4", "ipv6"),
    [
        ("10.0.0.0/8", (HERE[4], "10.78.0.1"), ()),
        # The broadcast address of the interface lies inside, and is none to connect from.
        ("10.77.0.0/27", (HERE[4],), ()),
        ("fd77::/16", (), (HERE[6],)),
        ("fd77::/126", (), (HERE[6],)),
    ],
)
@pytest.mark.usefixtures("interface")
def test_a_network_stands_for_this_machines_addresses_in_it(
    network: str, ipv4: tuple[str, ...], ipv6: tuple[str, ...]
) -> None:
    found = parse_sources(network)
    assert (found.ipv4, found.ipv6) == (ipv4, ipv6)


def test_an_ipv6_network_that_only_a_route_makes_local_needs_freebind() -> None:
    add_local_prefix("2001:db8:7::/64")
    with pytest.raises(ValueError, match=r"no address of this machine lies in 2001:db8:7::/64; freebind would allow"):
        parse_sources("2001:db8:7::/64")
    assert len(parse_sources("2001:db8:7::/64", freebind=True).ipv6) == AT_MOST
