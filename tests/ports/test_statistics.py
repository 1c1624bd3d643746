"""Counts: each event in its own place, sums that leave their terms alone."""

from __future__ import annotations

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from fourtuple.ports.statistics import Counts

COUNTS = st.builds(Counts, *(st.integers(0, 10**9) for _ in fields(Counts)))


@given(st.lists(COUNTS))
def test_a_sum_has_the_sum_of_each_count(terms: list[Counts]) -> None:
    before = [replace(term) for term in terms]
    total = sum(terms, Counts())
    for name in (field.name for field in fields(Counts)):
        assert getattr(total, name) == sum(getattr(term, name) for term in terms)
    assert terms == before


@given(COUNTS, COUNTS)
def test_adding_in_place_leaves_other_holders_alone(start: Counts, more: Counts) -> None:
    total = held = start
    total += more
    assert held is start
    assert total is not start
    assert total == held + more
