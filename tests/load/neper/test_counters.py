"""Counters that are added and subtracted."""

from __future__ import annotations

from fourtuple.load.neper.counters import Counters, added
from load.neper.fakes import histogram


def test_threads_add_up() -> None:
    one = Counters(3, {111: 1}, {"refused_ports": 0}, {"latency": histogram(5)})
    two = Counters(4, {111: 2, 104: 1}, {"refused_ports": 0}, {"latency": histogram(6, 7)})
    whole = added([one, two])
    assert (whole.things, dict(whole.failures), dict(whole.numbers)) == (7, {111: 3, 104: 1}, {"refused_ports": 0})
    assert whole.histograms["latency"].count == 3
    assert whole.failed == 4


def test_the_sum_does_not_go_on_with_its_parts() -> None:
    latency = histogram(5)
    whole = added([Counters(1, {}, {}, {"latency": latency})])
    latency.record(6)
    assert whole.histograms["latency"].count == 1


def test_moments_are_subtracted() -> None:
    before = Counters(3, {111: 1}, {"connections": 5}, {"latency": histogram(5)})
    after = Counters(9, {111: 1, 104: 2}, {"connections": 8}, {"latency": histogram(5, 6, 7)})
    since = after.since(before)
    assert (since.things, dict(since.failures), dict(since.numbers)) == (6, {111: 0, 104: 2}, {"connections": 3})
    assert since.histograms["latency"].buckets() == [(6, 1), (7, 1)]
    assert after.since(Counters()) == after
