"""Random numbers that a seed repeats, for what the kernel draws at random."""

from __future__ import annotations

_MULTIPLIER = 0x2545F4914F6CDD1D
_64 = 0xFFFFFFFFFFFFFFFF


class Randomness:
    """Where random numbers come from: xorshift64*, seeded."""

    def __init__(self, seed: int) -> None:
        self.state = (seed * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) & _64 or 1

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound`` - 1, which is less than 2**32."""
        state = self.state
        state = state ^ (state >> 12)
        state = (state ^ (state << 25)) & _64
        state = state ^ (state >> 27)
        self.state = state
        return ((((state * _MULTIPLIER) & _64) >> 32) * bound) >> 32
