"""Reading a dump of sockets, whatever comes."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.load.stress.dump import DONE, MORE, REQUEST, SIZE, DumpReader
from load.stress import samples


def read(reader: DumpReader, data: bytes) -> int:
    memoryview(reader.buffer)[: len(data)] = data
    return reader.read(len(data))


def test_the_request_is_the_one_that_stress_ng_sends() -> None:
    # 40 bytes, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP.
    assert REQUEST[:16].hex(" ", 4) == "28000000 14000103 00000000 00000000"
    # AF_UNIX, every state, every inode, names, no cookie.
    assert REQUEST[16:].hex(" ", 4) == "01000000 ffffffff 00000000 01000000 00000000 00000000"


@given(st.lists(st.lists(st.binary(max_size=20), max_size=4), max_size=20))
def test_sockets_and_attributes_are_counted(sockets: list[list[bytes]]) -> None:
    reader = DumpReader()
    data = b"".join(samples.unix_socket(*map(samples.attribute, attributes)) for attributes in sockets)
    assert read(reader, data) == MORE
    assert read(reader, samples.DONE) == DONE
    assert (reader.sockets, reader.attributes) == (len(sockets), sum(map(len, sockets)))


def test_sockets_and_the_end_may_come_together() -> None:
    reader = DumpReader()
    assert read(reader, samples.unix_socket(samples.attribute(b"a")) + samples.DONE) == DONE
    assert (reader.sockets, reader.attributes) == (1, 1)


@pytest.mark.parametrize("kind", [2, 3], ids=["NLMSG_ERROR", "NLMSG_DONE"])
def test_the_kernels_error_is_told(kind: int) -> None:
    assert read(DumpReader(), samples.message(kind, struct.pack("=i", -errno.ENOENT))) == -errno.ENOENT


@pytest.mark.parametrize(
    "data",
    [
        samples.message(16, bytes(20)),
        samples.message(20, bytes(12)),
        samples.message(3, b""),
        struct.pack("=IHHII", 15, 20, 2, 0, 0) + bytes(16),
        struct.pack("=IHHII", 64, 20, 2, 0, 0) + bytes(16),
        struct.pack("=IHHII", 0xFFFFFFFF, 20, 2, 0, 0) + bytes(16),
    ],
    ids=["another type", "no room for a socket", "no room for a code", "too short", "cut off", "below 0"],
)
def test_what_is_no_message_of_a_dump_is_an_error(data: bytes) -> None:
    reader = DumpReader()
    assert read(reader, data) == -errno.EBADMSG
    assert reader.sockets == 0


def test_a_message_that_is_cut_off_is_an_error_after_whole_ones_too() -> None:
    reader = DumpReader()
    assert read(reader, samples.unix_socket() + struct.pack("=IHHII", 40, 20, 2, 0, 0) + bytes(16)) == -errno.EBADMSG
    assert reader.sockets == 1


def test_attributes_end_where_one_does_not_fit() -> None:
    reader = DumpReader()
    whole, broken = samples.attribute(b"abc"), struct.pack("=HH", 40, 1) + bytes(4)
    assert read(reader, samples.unix_socket(whole, broken, whole)) == MORE
    assert (reader.sockets, reader.attributes) == (1, 1)
    assert read(reader, samples.unix_socket(struct.pack("=HH", 0, 1), whole)) == MORE
    assert (reader.sockets, reader.attributes) == (2, 1)


@given(st.binary(max_size=512))
def test_any_bytes_are_read_to_an_end(data: bytes) -> None:
    reader = DumpReader()
    assert read(reader, data) <= DONE
    assert reader.sockets <= len(data) // 32
    assert reader.attributes <= len(data) // 4


def test_a_full_buffer_is_read_to_its_last_byte() -> None:
    reader = DumpReader()
    one = samples.unix_socket()
    assert read(reader, one * (SIZE // len(one))) == MORE
    assert reader.sockets == SIZE // 32
