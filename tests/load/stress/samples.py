"""Cells and messages for tests of the stressors."""

from __future__ import annotations

import struct
from array import array

from fourtuple.load.stress.cells import CELLS, Cells


def cells() -> Cells:
    """The cells of a worker that has done nothing."""
    return memoryview(array("q", bytes(8 * CELLS)))


def message(kind: int, payload: bytes) -> bytes:
    """A netlink message, padded."""
    return struct.pack("=IHHII", 16 + len(payload), kind, 2, 0, 0) + payload + bytes(-len(payload) % 4)


def attribute(data: bytes) -> bytes:
    """An attribute, padded."""
    return struct.pack("=HH", 4 + len(data), 1) + data + bytes(-len(data) % 4)


def unix_socket(*attributes: bytes) -> bytes:
    """The message of a socket."""
    return message(20, bytes(16) + b"".join(attributes))


DONE = message(3, struct.pack("=i", 0))
