"""Where everything stands in the block of memory that workers share.

The block is one array of 64-bit words. Nothing in it is an address, so every process may map it where it likes, and a
block of zeros is a block of empty tables: nobody has to set it up before the others come.

    the epoch                        a line
    how many nodes were ever used    a line
    readers                          a line for each worker: its epoch + 1 while it looks, else 0
    pools                            a line for each worker: lock, first and last node of the queue
    bind hash                        lock and first node of each chain, by local port
    established hash                 lock and first node of each chain, by four-tuple
    nodes                            a line each; number 0 stands for none

A line is 64 bytes, what processors move between their caches: two workers' words never share one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

LINE = 8
"""Words of a line."""

EPOCH = 0
USED = LINE
"""The places of the single words."""

LOCK = 0
HEAD = 1
BUCKET = 2
"""A chain: the words of its lock and its first node, and how many words it takes."""

FIRST = 1
LAST = 2
"""The words of a pool after its lock."""

LINK = 0
STATE = 1
ADDRESSES = 2
PORTS = 3
OWNER = 4
OWNERS = 5
QUEUED = 6
RETIRED = 7
"""The words of a node; see ``tables`` and ``pool``."""

MOST_WORKERS = 1 << 16
MOST_CHAINS = 1 << 30
MOST_NODES = (1 << 32) - 1


@dataclass(frozen=True)
class Layout:
    """The sizes that all users of a block agree on.

    ``workers`` may use the block at once, each under a number of its own. ``bind_chains`` and ``established_chains``
    are powers of two; the kernel sizes its own by its memory. Every connection takes one of ``nodes``, and every local
    port in use another. Raises ``ValueError`` for sizes that are out of range or no power of two.
    """

    workers: int
    bind_chains: int
    established_chains: int
    nodes: int

    def __post_init__(self) -> None:
        most = {"workers": MOST_WORKERS, "nodes": MOST_NODES}
        for field in fields(self):
            value, limit = getattr(self, field.name), most.get(field.name, MOST_CHAINS)
            if not 1 <= value <= limit:
                raise ValueError(f"{field.name}: {value} is not in 1 to {limit}")
            if field.name not in most and value & (value - 1):
                nearest = 1 << value.bit_length()
                raise ValueError(f"{field.name}: {value} is no power of two; {nearest // 2} and {nearest} are")

    @property
    def readers(self) -> int:
        """The place of the first worker's reader line."""
        return 2 * LINE

    @property
    def pools(self) -> int:
        """The place of the first worker's pool."""
        return self.readers + self.workers * LINE

    @property
    def bind(self) -> int:
        """The place of the bind hash."""
        return self.pools + self.workers * LINE

    @property
    def established(self) -> int:
        """The place of the established hash."""
        return self.bind + self.bind_chains * BUCKET

    @property
    def first_node(self) -> int:
        """The place of node 0, which is none."""
        return -(-(self.established + self.established_chains * BUCKET) // LINE) * LINE

    @property
    def words(self) -> int:
        """The words of the block."""
        return self.first_node + (self.nodes + 1) * LINE

    @property
    def size(self) -> int:
        """The bytes of the block."""
        return self.words * 8

    def check(self, memory: memoryview[int], worker: int) -> None:
        """Raise ``ValueError`` if ``memory`` is no block of this layout, or no ``worker`` has that number."""
        if memory.format != "Q" or memory.ndim != 1 or memory.readonly or memory.nbytes != self.size:
            raise ValueError(
                f"memory: {memory.nbytes} bytes of format {memory.format!r}{', read-only' * memory.readonly}; "
                f"the layout takes {self.size} writable bytes, cast to 'Q'"
            )
        if not 0 <= worker < self.workers:
            raise ValueError(f"worker: {worker} is not in 0 to {self.workers - 1}")
