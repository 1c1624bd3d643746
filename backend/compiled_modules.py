"""Which modules are compiled: every `X.py` with an `X.pxd` beside it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CompiledModule:
    """A module in Cython's pure Python mode: plain Python in `source`, C types in `types`."""

    name: str
    source: Path
    types: Path


def compiled_modules(root: Path) -> list[CompiledModule]:
    """The compiled modules under `root`, the folder of the top-level packages, sorted by name."""
    pairs = ((types.with_suffix(".py"), types) for types in sorted(root.rglob("*.pxd")))
    return [
        CompiledModule(".".join(source.relative_to(root).with_suffix("").parts), source, types)
        for source, types in pairs
        if source.exists()
    ]
