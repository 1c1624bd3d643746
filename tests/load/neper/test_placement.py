"""Which flows a thread has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fourtuple.load.neper.placement import place, share, shares_before

small = st.integers(1, 50)


@given(st.integers(0, 1000), small)
def test_shares_are_whole_and_even(total: int, parts: int) -> None:
    shares = [share(total, parts, part) for part in range(parts)]
    assert sum(shares) == total
    assert max(shares) - min(shares) <= 1
    assert [shares_before(total, parts, part) for part in range(parts)] == [sum(shares[:part]) for part in range(parts)]


@given(st.integers(1, 200), small, small, st.integers(0, 50))
def test_flows_are_numbered_over_all_threads(flows: int, threads: int, destinations: int, sources: int) -> None:
    placed = [place(flows, threads, thread, destinations=destinations, sources=sources) for thread in range(threads)]
    assert [one for part in placed for one in part.destination_of] == [flow % destinations for flow in range(flows)]
    expected = [flow % sources if sources else -1 for flow in range(flows)]
    assert [one for part in placed for one in part.source_of] == expected
