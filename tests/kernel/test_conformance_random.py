"""Random sequences of operations on the live kernel and on the model: what came of each must agree.

With two ports to choose from the kernel's choice is no matter of luck: the parity of the first comes first, for bind()
that of the second. With more, the model is told what the kernel chose and must find it possible: had it no other
choice, it would succeed, and no port of the parity that comes first would do if the kernel took one of the other.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from fourtuple.linux.netns import network_namespace
from model.conformance.hosts import REUSE, V4
from model.conformance.live import LiveHost
from model.conformance.modelled import ModelHost
from model.conformance.operations import FIRST_PORT, Operation, Player, Start, imposed, operations

pytestmark = pytest.mark.usefixtures("netns")

random_sequences = settings(
    max_examples=100,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@contextmanager
def live(size: int) -> Generator[Player, None, None]:
    """The live kernel, in a namespace of its own, with so many ports."""
    with network_namespace(), LiveHost(V4) as host:
        yield Player(host, size)


def modelled(size: int, history: list[Operation]) -> Player:
    """The model with so many ports, after a history."""
    player = Player(ModelHost(V4), size)
    for operation in history:
        player.play(operation)
    return player


@random_sequences
@given(sequence=operations(2, own_ranges=True))
def test_of_two_ports_both_choose_the_same(sequence: list[Operation]) -> None:
    model = modelled(2, [])
    with live(2) as kernel:
        for number, operation in enumerate(sequence):
            assert model.play(operation) == kernel.play(operation), f"operation {number}: {operation}"


@random_sequences
@given(sequence=operations(4, own_ranges=False))
def test_of_four_ports_the_kernel_chooses_one_that_the_model_finds_possible(sequence: list[Operation]) -> None:
    history: list[Operation] = []
    model = modelled(4, [])
    with live(4) as kernel:
        for number, operation in enumerate(sequence):
            outcome = kernel.play(operation)
            told = operation
            if isinstance(operation, Start) and operation.draws and isinstance(outcome, int) and outcome != 0:
                told = imposed(operation, outcome)
                for port in better(operation, outcome):
                    refused = modelled(4, history).play(imposed(operation, port))
                    assert isinstance(refused, str), f"operation {number}: {operation} gave {outcome}, not {port}"
            assert model.play(told) == outcome, f"operation {number}: {operation}"
            history.append(told)


def better(start: Start, outcome: int) -> range:
    """The ports that come before the outcome, whatever the lots say."""
    bind = start.binds_to_a_drawn_port
    if bind and REUSE in start.options:
        # The lower half of the range comes first, both parities of it.
        return range(FIRST_PORT, FIRST_PORT + 2) if outcome >= FIRST_PORT + 2 else range(0)
    parity = (FIRST_PORT + bind) % 2
    return range(FIRST_PORT + bind, FIRST_PORT + 4, 2) if outcome % 2 != parity else range(0)
