"""The hash functions of the tables and of the port search, bit for bit.

jhash is Bob Jenkins' lookup3 over 32-bit words (include/linux/jhash.h), siphash is SipHash-2-4 (Aumasson and Bernstein,
2012; include/linux/siphash.h), ``hash_32`` multiplies by the golden ratio (include/linux/hash.h). All words are
unsigned, 32 bits except where said.
"""

from __future__ import annotations

from array import array

_JHASH_INITVAL = 0xDEADBEEF
_GOLDEN_RATIO_32 = 0x61C88647
# "somepseudorandomlygeneratedbytes"
_SIP0, _SIP1, _SIP2, _SIP3 = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
_32 = 0xFFFFFFFF
_64 = 0xFFFFFFFFFFFFFFFF


def hash_32(value: int, bits: int) -> int:
    """The upper ``bits`` bits of the product of ``value`` and the golden ratio."""
    return ((value * _GOLDEN_RATIO_32) & _32) >> (32 - bits)


def jhash_3words(a: int, b: int, c: int, initval: int) -> int:
    """Three words, as the established hash takes them."""
    start = (initval + _JHASH_INITVAL + 12) & _32
    return _jhash_final((a + start) & _32, (b + start) & _32, (c + start) & _32)


def jhash_1word(a: int, initval: int) -> int:
    """One word, as the hash of ports and addresses takes an IPv4 address."""
    start = (initval + _JHASH_INITVAL + 4) & _32
    return _jhash_final((a + start) & _32, start, start)


def jhash_4words(a: int, b: int, c: int, d: int, initval: int) -> int:
    """Four words, as an array of them is hashed: an IPv6 address in the hash of ports and addresses."""
    start = (initval + _JHASH_INITVAL + 16) & _32
    a = (a + start) & _32
    b = (b + start) & _32
    c = (c + start) & _32
    a = ((a - c) & _32) ^ _rotated(c, 4)
    c = (c + b) & _32
    b = ((b - a) & _32) ^ _rotated(a, 6)
    a = (a + c) & _32
    c = ((c - b) & _32) ^ _rotated(b, 8)
    b = (b + a) & _32
    a = ((a - c) & _32) ^ _rotated(c, 16)
    c = (c + b) & _32
    b = ((b - a) & _32) ^ _rotated(a, 19)
    a = (a + c) & _32
    c = ((c - b) & _32) ^ _rotated(b, 4)
    b = (b + a) & _32
    return _jhash_final((a + d) & _32, b, c)


def siphash(words: array[int], last: int, length: int, key0: int, key1: int) -> int:
    """SipHash-2-4 of ``length`` bytes: whole 64-bit ``words``, then ``last`` with what is left; 64 bits."""
    v0 = key0 ^ _SIP0
    v1 = key1 ^ _SIP1
    v2 = key0 ^ _SIP2
    v3 = key1 ^ _SIP3
    rest = (length & 0xFF) << 56 | last
    count = len(words)
    for block in range(count + 3):
        # After the last word come four rounds in two blocks without one.
        word = 0
        if block < count:
            word = words[block]
        elif block == count:
            word = rest
        elif block == count + 1:
            v2 ^= 0xFF
        v3 ^= word
        for _ in range(2):
            v0 = (v0 + v1) & _64
            v1 = ((v1 << 13) & _64 | v1 >> 51) ^ v0
            v0 = (v0 << 32) & _64 | v0 >> 32
            v2 = (v2 + v3) & _64
            v3 = ((v3 << 16) & _64 | v3 >> 48) ^ v2
            v0 = (v0 + v3) & _64
            v3 = ((v3 << 21) & _64 | v3 >> 43) ^ v0
            v2 = (v2 + v1) & _64
            v1 = ((v1 << 17) & _64 | v1 >> 47) ^ v2
            v2 = (v2 << 32) & _64 | v2 >> 32
        v0 ^= word
    return v0 ^ v1 ^ v2 ^ v3


def _rotated(word: int, by: int) -> int:
    return ((word << by) & _32) | (word >> (32 - by))


def _jhash_final(a: int, b: int, c: int) -> int:
    c = ((c ^ b) - _rotated(b, 14)) & _32
    a = ((a ^ c) - _rotated(c, 11)) & _32
    b = ((b ^ a) - _rotated(a, 25)) & _32
    c = ((c ^ b) - _rotated(b, 16)) & _32
    a = ((a ^ c) - _rotated(c, 4)) & _32
    b = ((b ^ a) - _rotated(a, 14)) & _32
    return ((c ^ b) - _rotated(b, 24)) & _32
