"""What starts anew in a forked child: locks that no thread of the child holds, leases that are its parent's."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """What can be put back to its beginning, whatever the parent's other threads were doing with it."""

    def start_anew(self) -> None:
        """Forget what belongs to the parent."""
        ...


_renewables: WeakSet[Renewable] = WeakSet()


def renew_in_children(renewable: Renewable) -> None:
    """Have ``start_anew()`` called in every child that is forked while the object lives."""
    _renewables.add(renewable)


def _renew_all() -> None:
    for renewable in _renewables:
        renewable.start_anew()


os.register_at_fork(after_in_child=_renew_all)
