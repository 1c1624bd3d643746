"""The kernel's tables as a structure that real threads and processes use at once.

A block of shared memory holds who has which four-tuple. Workers claim ports in it, look four-tuples up and give them
back, in the two forms that the kernel's port search has had: with every look under a lock, and with looks before the
lock that take none (RCU).

    layout = Layout(workers=2, bind_chains=1 << 16, established_chains=1 << 16, nodes=1 << 17)
    memory = memoryview(mmap.mmap(-1, layout.size)).cast("Q")
    tables = rcu_tables(layout, memory, worker=0)
    handle = tables.connect(Keys(source, destination, 443, low=10_000, high=29_999), start=0)

``tables`` states the rules, memory order among them; ``epochs`` says why no reader meets a node that is used again.
"""

from .keys import Keys
from .layout import Layout
from .tables import Tables, locked_tables, rcu_tables

__all__ = ["Keys", "Layout", "Tables", "locked_tables", "rcu_tables"]
