import socket

import pytest

from fourtuple.model.experiment import Experiment, Filling, run
from fourtuple.model.picture import svg
from fourtuple.model.summary import document, summaries
from fourtuple.model.versions import SERIES

pytestmark = pytest.mark.pure

SMALL = Experiment(low=10000, high=10199, flows=150, connects=20, family=socket.AF_INET6)


def test_the_series_tries_the_same_ports_with_fewer_locks() -> None:
    before, after = run(SERIES[0], SMALL), run(SERIES[4], SMALL)
    candidates = [trace.candidates for trace in before.traces]
    assert candidates == [trace.candidates for trace in after.traces]
    assert max(candidates) > 50
    assert summaries(before)["bind_locks"].mean == summaries(before)["candidates"].mean
    assert summaries(after)["bind_locks"].mean == 1


def test_flows_spread_evenly_leave_every_second_port_free() -> None:
    evenly = Experiment(low=10000, high=10199, flows=66, connects=50, filling=Filling.EVENLY)
    assert summaries(run("6.18", evenly))["candidates"].greatest <= 4


def test_what_is_printed_names_every_version() -> None:
    outcomes = [run(name, SMALL) for name in ("6.14", "6.18")]
    assert list(document(outcomes)) == ["6.14", "6.18"]
    assert svg(outcomes).count("<rect") > 10


@pytest.mark.parametrize(
    ("low", "high", "flows", "connects", "name"),
    [(10000, 10199, 201, 1, "flows"), (10000, 10199, 1, 0, "connects"), (300, 200, 1, 1, "ip_local_port_range")],
)
def test_impossible_experiments(low: int, high: int, flows: int, connects: int, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}"):
        Experiment(low=low, high=high, flows=flows, connects=connects)


def test_the_steps_are_those_of_the_last_connect_alone() -> None:
    outcome = run("6.18", SMALL)
    tried = [step for step in outcome.steps if step.action == "try port"]
    assert len(tried) == outcome.traces[-1].candidates
