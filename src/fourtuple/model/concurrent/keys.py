"""What a four-tuple is to the tables: two words."""

from __future__ import annotations

MOST_ADDRESSES = 1 << 32
MOST_PORTS = 1 << 16


class Keys:
    """The four-tuples from ``source`` to ``destination``, whose local port is one of ``low`` to ``high``.

    Addresses are numbers below 2**32 that the users of a block agree on (for IPv4, the address itself will do). Raises
    ``ValueError`` for numbers out of range and for a range that holds no port.
    """

    def __init__(self, source: int, destination: int, destination_port: int, low: int, high: int) -> None:
        for name, address in (("source", source), ("destination", destination)):
            if not 0 <= address < MOST_ADDRESSES:
                raise ValueError(f"{name}: {address} is not in 0 to {MOST_ADDRESSES - 1}")
        for name, port in (("destination_port", destination_port), ("low", low), ("high", high)):
            if not 1 <= port < MOST_PORTS:
                raise ValueError(f"{name}: {port} is not in 1 to {MOST_PORTS - 1}")
        if low > high:
            raise ValueError(f"low: {low} is above high, {high}: the range holds no port")
        self.source = source
        self.destination = destination
        self.destination_port = destination_port
        self.low = low
        self.high = high
        self.addresses = source << 32 | destination

    def ports(self, local_port: int) -> int:
        """Return the second word of the four-tuple with ``local_port``; ``addresses`` is the first of all."""
        return local_port << 16 | self.destination_port
