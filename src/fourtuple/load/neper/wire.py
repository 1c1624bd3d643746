"""The messages of neper's control protocol: 72 bytes each, over a TCP connection beside the data.

Client and server say four things: HELLO (client, with the secret of the program) and ACK, after which the client
starts; DONE (client, with its rate) and BYE (server, with its own), after which both print. Integers are big-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from fourtuple.errors import FourtupleError

_LAYOUT: Final = struct.Struct("!32siIIIiIQQ")

SIZE: Final = _LAYOUT.size
"""Bytes of a message."""


class Kind(IntEnum):
    """What a message says."""

    HELLO = 1
    ACK = 2
    DONE = 3
    BYE = 4


class BadMessage(FourtupleError, ValueError):
    """What came is no message, or not the one that is due; the text says what it was."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. HELLO and ACK use all fields but ``rate``, and ACK leaves the secret empty; DONE and BYE only
    ``magic`` and ``rate``, transactions or bits per second.

    ``test_length`` is in seconds, or below 0 the number of transactions; ``max_pacing_rate`` in bytes per second.
    """

    kind: Kind
    magic: int
    secret: bytes = b""
    threads: int = 0
    flows: int = 0
    test_length: int = 0
    client_number: int = 0
    max_pacing_rate: int = 0
    rate: int = 0

    def pack(self) -> bytes:
        """The message as bytes. Raises ValueError for a number that does not fit its field."""
        try:
            return _LAYOUT.pack(
                self.secret,
                self.magic,
                self.kind,
                self.threads,
                self.flows,
                self.test_length,
                self.client_number,
                self.max_pacing_rate,
                self.rate,
            )
        except struct.error as error:
            raise ValueError(f"a number does not fit the control message {self}: {error}") from error


def parse(data: bytes) -> Message:
    """Read a message of exactly ``SIZE`` bytes. Raises BadMessage for another size and for a type that there is not."""
    if len(data) != SIZE:
        raise BadMessage(f"a control message has {SIZE} bytes, these are {len(data)}")
    secret, magic, kind, threads, flows, test_length, client_number, max_pacing_rate, rate = _LAYOUT.unpack(data)
    try:
        known = Kind(kind)
    except ValueError:
        types = ", ".join(f"{kind.value} {kind.name}" for kind in Kind)
        raise BadMessage(f"a control message of type {kind} (magic {magic}) came; the types are {types}") from None
    return Message(
        known, magic, secret.rstrip(b"\0"), threads, flows, test_length, client_number, max_pacing_rate, rate
    )


def expect(message: Message, kind: Kind, magic: int) -> Message:
    """Return the message if it is of that kind and magic. Raises BadMessage if not."""
    if message.kind is not kind or message.magic != magic:
        raise BadMessage(
            f"{kind.name} with magic {magic} was due, and {message.kind.name} with magic {message.magic} came"
        )
    return message


class Inbox:
    """Messages out of a stream that delivers them in pieces of any size."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """Take what was received."""
        self._bytes += data

    def next(self) -> Message | None:
        """The next message, None while it is not complete. Raises BadMessage, and the bytes in question are gone."""
        if len(self._bytes) < SIZE:
            return None
        data = bytes(self._bytes[:SIZE])
        del self._bytes[:SIZE]
        return parse(data)

    @property
    def left(self) -> int:
        """Bytes of a message that is not complete."""
        return len(self._bytes)
