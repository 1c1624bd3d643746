"""Measures connect() as the ports towards one destination become scarce.

Two worlds, one for the kernel's choice and one for fourtuple's, are filled to the same levels. At
each level they replace connections in short turns, never both at once and each as often first as
second, so that whatever disturbs the machine disturbs both alike.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator
from dataclasses import dataclass

from fourtuple.bench.demo.arena import Arena, Settings
from fourtuple.bench.demo.levels import Level
from fourtuple.bench.demo.timing import Timing, timing
from fourtuple.load.choosers import fourtuple_chooses, kernel_chooses
from fourtuple.load.connections import Connections
from fourtuple.load.world import World, open_world

# Connections made in one turn while filling: few enough for the sinks' queue, net.core.somaxconn,
# 4096 by default.
_FILL = 500


@dataclass(frozen=True, slots=True)
class Measured:
    """What connect() cost at one level: under the kernel's choice and under fourtuple's."""

    level: Level
    free: int
    kernel: Timing
    fourtuple: Timing

    @property
    def ratio(self) -> float:
        """How many times as long the kernel's choice takes, by the means."""
        return self.kernel.mean / self.fourtuple.mean


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done at a level; ``share`` of the whole is done, 0 to 1."""

    level: Level
    doing: str
    share: float


def measure(arena: Arena, settings: Settings) -> Generator[Progress | Measured, None, None]:
    """Measure every level within reach, lowest first, telling of progress between turns.

    Closing the generator ends the processes. Raises ``NamespacesRefused``, or ``Unsupported`` if
    this machine lacks the family of addresses, before anything is measured.
    """
    steps = arena.ladder.reached
    with (
        open_world(kernel_chooses, arena.kernel) as kernel,
        open_world(fourtuple_chooses, arena.fourtuple) as fourtuple,
    ):
        held = 0
        for index, level in enumerate(steps):
            for share in _fill((kernel, fourtuple), level.held - held):
                yield Progress(level, "filling", (index + share / 2) / len(steps))
            held = level.held
            samples = array("q"), array("q")
            for share in _replace((kernel, fourtuple), samples, settings):
                yield Progress(level, "measuring", (index + 0.5 + share / 2) / len(steps))
            yield Measured(level, arena.ladder.size - held, *map(timing, samples))


_Pair = tuple[World, World]


def _fill(worlds: _Pair, count: int) -> Generator[float, None, None]:
    for done in range(0, count, _FILL):
        yield done / count
        for world in worlds:
            world.ask(Connections.grow, min(_FILL, count - done))


def _replace(worlds: _Pair, samples: tuple[array[int], array[int]], settings: Settings) -> Generator[float, None, None]:
    pairs = list(zip(worlds, samples, strict=True))
    for done in range(0, settings.operations, settings.block):
        yield done / settings.operations
        for world, taken in pairs:
            taken.extend(world.ask(Connections.replace, min(settings.block, settings.operations - done)))
        pairs.reverse()
