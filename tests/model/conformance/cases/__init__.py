"""All cases: the public functions of these modules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import ModuleType

from model.conformance.cases import binding, choosing, poisoning, searching, sharing, waiting
from model.conformance.hosts import Host

Case = Callable[[Host], None]


def _cases_of(module: ModuleType) -> Iterator[tuple[str, Case]]:
    section = module.__name__.rpartition(".")[2]
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if function.__module__ == module.__name__ and not name.startswith("_"):
            yield f"{section}: {name.replace('_', ' ')}", function


CASES = {
    name: case
    for module in (searching, sharing, waiting, binding, poisoning, choosing)
    for name, case in _cases_of(module)
}
"""What each says, and the function that says it."""
