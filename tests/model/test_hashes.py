"""The hashes against published vectors, and against a byte-wise twin that those vectors hold to account."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.model.hashes import hash_32, jhash_1word, jhash_3words, jhash_4words, siphash

pytestmark = pytest.mark.pure

WORD = st.integers(0, 2**32 - 1)
MASK = 2**32 - 1


def rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & MASK


def lookup3(data: bytes, start: int) -> int:
    """Bob Jenkins' hash of bytes, as his 2006 description has it."""
    a = b = c = (0xDEADBEEF + len(data) + start) & MASK
    while len(data) > 12:
        x, y, z = (int.from_bytes(data[i : i + 4], "little") for i in (0, 4, 8))
        a, b, c, data = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK, data[12:]
        for by_c, by_a, by_b in ((4, 6, 8), (16, 19, 4)):
            a, c = ((a - c) & MASK) ^ rotated(c, by_c), (c + b) & MASK
            b, a = ((b - a) & MASK) ^ rotated(a, by_a), (a + c) & MASK
            c, b = ((c - b) & MASK) ^ rotated(b, by_b), (b + a) & MASK
    padded = data.ljust(12, b"\0")
    x, y, z = (int.from_bytes(padded[i : i + 4], "little") for i in (0, 4, 8))
    a, b, c = (a + x) & MASK, (b + y) & MASK, (c + z) & MASK
    c = ((c ^ b) - rotated(b, 14)) & MASK
    a = ((a ^ c) - rotated(c, 11)) & MASK
    b = ((b ^ a) - rotated(a, 25)) & MASK
    c = ((c ^ b) - rotated(b, 16)) & MASK
    a = ((a ^ c) - rotated(c, 4)) & MASK
    b = ((b ^ a) - rotated(a, 14)) & MASK
    return ((c ^ b) - rotated(b, 24)) & MASK


@pytest.mark.parametrize(("start", "expected"), [(0, 0x17770551), (1, 0xCD628161)])
def test_the_twin_gives_the_published_values(start: int, expected: int) -> None:
    assert lookup3(b"Four score and seven years ago", start) == expected


@given(st.lists(WORD, min_size=4, max_size=4), WORD)
def test_jhash_is_the_twin_over_words(words: list[int], start: int) -> None:
    data = b"".join(word.to_bytes(4, "little") for word in words)
    a, b, c, d = words
    assert jhash_1word(a, start) == lookup3(data[:4], start)
    assert jhash_3words(a, b, c, start) == lookup3(data[:12], start)
    assert jhash_4words(a, b, c, d, start) == lookup3(data, start)


@pytest.mark.parametrize(
    ("length", "expected"), [(0, 0x726FDB47DD0E0E31), (8, 0x93F5F5799A932462), (15, 0xA129CA6149BE45E5)]
)
def test_siphash_gives_the_values_of_its_paper(length: int, expected: int) -> None:
    data = bytes(range(length))
    whole = length // 8 * 8
    last = int.from_bytes(data[whole:], "little")
    assert siphash(array("Q", data[:whole]), last, length, 0x0706050403020100, 0x0F0E0D0C0B0A0908) == expected


def test_hash_32_keeps_the_upper_bits_of_the_golden_ratio() -> None:
    assert hash_32(1, 8) == 0x61
    assert hash_32(1, 32) == 0x61C88647
    assert hash_32(0xFFFFFFFF, 8) == 0x9E
