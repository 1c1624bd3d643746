"""Which flows a thread has, and which destination and source each of them uses, as neper numbers them."""

from __future__ import annotations

from dataclasses import dataclass


def share(total: int, parts: int, part: int) -> int:
    """What one of ``parts`` gets of ``total``: they differ by 1 at most, the first ones get more."""
    return total // parts + (part < total % parts)


def shares_before(total: int, parts: int, part: int) -> int:
    """What all parts before this one get together."""
    return part * (total // parts) + min(part, total % parts)


@dataclass(frozen=True, slots=True)
class Placement:
    """The flows of a thread: ``first`` is the number of its first flow among those of all threads.

    ``destination_of`` and ``source_of`` have an index for each flow, -1 for no source of its own. A flow keeps both
    for all its connections.
    """

    first: int
    destination_of: list[int]
    source_of: list[int]


def place(flows: int, threads: int, thread: int, *, destinations: int, sources: int) -> Placement:
    """The flows of a thread, which take ``destinations`` and ``sources`` in turn, counted over all threads."""
    first = shares_before(flows, threads, thread)
    numbers = range(first, first + share(flows, threads, thread))
    return Placement(
        first,
        [number % destinations for number in numbers],
        [number % sources if sources else -1 for number in numbers],
    )
