"""pytest plugin: the fixture ``netns``, a fresh network namespace for each test that asks for it.

Works as root, and for other users through a user namespace that the whole test process enters once.
Load it with ``-p fourtuple.linux.pytest_netns`` or ``pytest_plugins``.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from fourtuple.errors import NamespacesRefused
from fourtuple.linux.netns import NetworkNamespace, network_namespace, obtain_namespaces

DEFAULT_PORT_RANGE = (10000, 29999)
"""20,000 ports: they fit under common limits of open files."""

_refusal = pytest.StashKey[NamespacesRefused]()


def pytest_configure(config: pytest.Config) -> None:
    """Announce the marker."""
    config.addinivalue_line(
        "markers",
        "port_range(low, high): local port range of the netns fixture, both ends included",
    )


def pytest_runtestloop(session: pytest.Session) -> None:
    """Enter the user namespace before the first test, which may leave threads behind."""
    if any("netns" in getattr(item, "fixturenames", ()) for item in session.items):
        try:
            obtain_namespaces()
        except NamespacesRefused as refusal:
            session.stash[_refusal] = refusal


@pytest.fixture
def netns(request: pytest.FixtureRequest) -> Generator[NetworkNamespace, None, None]:
    """Run the test in a fresh network namespace.

    The local port range is 10000-29999 unless ``@pytest.mark.port_range(low, high)`` says
    otherwise.
    """
    refusal = request.session.stash.get(_refusal, None)
    if refusal is not None:
        raise refusal
    marker = request.node.get_closest_marker("port_range")
    low, high = marker.args if marker is not None else DEFAULT_PORT_RANGE
    with network_namespace(port_range=(low, high)) as namespace:
        yield namespace
