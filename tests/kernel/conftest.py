"""Connectors for the tests of connections, each checked when its test is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator

import pytest
import uvloop

from fourtuple.linux.netns import NetworkNamespace
from fourtuple.ports import Connector, default_connector, registry
from fourtuple.ports.registry import SpaceRegistry
from kernel.servers import Clock, NewConnector, Server, leased, open_files


@pytest.fixture(scope="session")
def uvloop_started() -> None:
    """Have the files open that uvloop opens with its first loop and never closes."""
    uvloop.new_event_loop().close()


@pytest.fixture
def new_connector(uvloop_started: None, netns: NetworkNamespace) -> Generator[NewConnector, None, None]:
    """Makes connectors. After the test, whatever it did, no port may be on loan and no file left open."""
    files = open_files()
    connectors: list[Connector] = []

    def make(*, clock: Callable[[], float] = time.monotonic, **options: object) -> Connector:
        connector = Connector(registry=SpaceRegistry(clock=clock, **options))  # pyright: ignore[reportArgumentType]
        connectors.append(connector)
        return connector

    yield make
    assert [leased(connector) for connector in connectors] == [0] * len(connectors)
    assert open_files() == files


@pytest.fixture
def clock() -> Clock:
    """A clock to turn by hand."""
    return Clock()


@pytest.fixture
def connector(new_connector: NewConnector, clock: Clock) -> Connector:
    """A connector that lives by ``clock``."""
    return new_connector(clock=clock)


@pytest.fixture
def server(new_connector: NewConnector) -> Generator[Server, None, None]:
    """A server on 127.0.0.1, closed before ``new_connector`` looks for open files."""
    with Server() as server:
        yield server


@pytest.fixture
def default(new_connector: NewConnector, monkeypatch: pytest.MonkeyPatch) -> Generator[Connector, None, None]:
    """The default connector, fresh: what it knew was of another namespace."""
    default_connector.cache_clear()
    monkeypatch.setattr(registry, "_default", {})
    connector = default_connector()
    yield connector
    assert leased(connector) == 0
    default_connector.cache_clear()
