"""How large the kernel makes its tables.

Sources: ``alloc_large_system_hash()``, which ``tcp_init()`` gives a slot for each 128 KiB of memory and a limit of
524288 for the established hash, and as many slots as that one, 65536 at most, for the bind hash; and
``inet_ehash_locks_alloc()``, with kernel commit f8ece40786c9 ("tcp: use a larger number of locks for the established
hash").
"""

from __future__ import annotations

from dataclasses import dataclass

from .versions import Features

_MEMORY_STEP = 1 << 20
_MEMORY_PER_SLOT = 128 << 10
_MOST_ESTABLISHED = 512 << 10
_MOST_BIND = 64 << 10
_LOCKS_PER_CPU = 32
_LOCKS_PER_NODE = 1024


@dataclass(frozen=True, slots=True)
class Sizes:
    """Slots of the bind hashes and of the established hash, and locks of the latter: powers of two.

    Raises ValueError, which names the table, for a size that is none.
    """

    bind: int
    established: int
    locks: int

    def __post_init__(self) -> None:
        for name in ("bind", "established", "locks"):
            size: int = getattr(self, name)
            if size < 1 or size & (size - 1):
                raise ValueError(f"{name}: a table has a power of two of slots, not {size}; try {_power(max(size, 1))}")


def sizes(features: Features, memory: int, *, cpus: int = 1, nodes: int = 1) -> Sizes:
    """The tables of a machine with ``memory`` bytes, ``cpus`` possible processors and ``nodes`` NUMA nodes.

    Raises ValueError for less than 1 MiB of memory, and without a processor or a node.
    """
    if memory < _MEMORY_STEP:
        raise ValueError(f"memory: {memory} bytes are no machine; it takes {_MEMORY_STEP} or more")
    if cpus < 1 or nodes < 1:
        raise ValueError(f"cpus, nodes: a machine has one or more, not {cpus} and {nodes}")
    rounded = -(-memory // _MEMORY_STEP) * _MEMORY_STEP
    established = min(_power(rounded // _MEMORY_PER_SLOT), _MOST_ESTABLISHED)
    locks = _LOCKS_PER_CPU * cpus
    if features.many_locks:
        locks = max(locks, _LOCKS_PER_NODE * nodes)
    return Sizes(bind=min(established, _MOST_BIND), established=established, locks=min(_power(locks), established))


def _power(number: int) -> int:
    # The power of two that is not below.
    return 1 << (number - 1).bit_length()
