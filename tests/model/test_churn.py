"""Connections made anew by the million do what the same connections do one by one."""

from __future__ import annotations

import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourtuple.model.experiment import Experiment, Filling, fill, run
from fourtuple.model.kernel import Kernel
from fourtuple.model.trace import Trace
from fourtuple.model.versions import LEDGER, version


@st.composite
def experiments(draw: st.DrawFn) -> Experiment:
    low = draw(st.integers(1024, 1060))
    high = low + draw(st.integers(1, 400))
    ports = high - low + 1
    return Experiment(
        low=low,
        high=high,
        flows=draw(st.integers(max(1, ports * 9 // 10), ports - 1)),
        connects=draw(st.integers(1, 60)),
        family=draw(st.sampled_from([socket.AF_INET, socket.AF_INET6])),
        filling=draw(st.sampled_from(Filling)),
        seed=draw(st.integers(1, 1000)),
    )


def churned(name: str, experiment: Experiment) -> Trace:
    kernel = Kernel(version(name), seed=experiment.seed)
    kernel.configure(ip_local_port_range=(experiment.low, experiment.high))
    held = fill(kernel, experiment)
    return kernel.churn(held, experiment.connects, seed=experiment.seed)


@settings(deadline=None, max_examples=60)
@given(experiments(), st.sampled_from(["6.15", "6.18", "7.1"]))
def test_shortcuts_change_no_count(experiment: Experiment, name: str) -> None:
    one_by_one = sum(run(name, experiment).traces, Trace())
    assert churned(name, experiment) == one_by_one


@pytest.mark.parametrize("name", [row.version for row in LEDGER])
def test_every_version_churns(name: str) -> None:
    experiment = Experiment(low=2000, high=2400, flows=380, connects=100)
    assert churned(name, experiment) == sum(run(name, experiment).traces, Trace())


def test_connections_keep_to_their_sockets() -> None:
    kernel = Kernel(version("6.18"))
    kernel.configure(ip_local_port_range=(2000, 2099))
    held = [kernel.socket() for _ in range(90)]
    for sock in held:
        sock.connect(("127.0.0.1", 80))
    kernel.churn(held, 500)
    assert len({sock.getsockname()[1] for sock in held}) == 90
    for sock in held:
        sock.reset()
    # Nothing is left: all ports are to be had again.
    for _ in range(100):
        kernel.socket().connect(("127.0.0.1", 80))


def test_sockets_of_several_destinations_are_refused() -> None:
    kernel = Kernel(version("6.18"))
    held = [kernel.socket() for _ in range(2)]
    for number, sock in enumerate(held):
        sock.connect(("127.0.0.1", 80 + number))
    with pytest.raises(ValueError, match="socks: 2 sockets, not all connected to one destination"):
        kernel.churn(held, 1)
    with pytest.raises(ValueError, match="socks: 0 sockets"):
        kernel.churn([], 1)
