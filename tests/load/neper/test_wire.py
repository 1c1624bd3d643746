"""The control messages, as bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.load.neper.wire import SIZE, BadMessage, Inbox, Kind, Message, expect, parse

SECRET = b"neper tcp_rr 201703241250"
HELLO = bytes.fromhex(
    "6e65706572207463705f7272203230313730333234313235300000000000000000"[:64]
    + "0000002a 00000001 00000002 00000005 fffffffb 00000000 0000000000001388 0000000000000000"
)

messages = st.builds(
    Message,
    kind=st.sampled_from(Kind),
    magic=st.integers(-(1 << 31), (1 << 31) - 1),
    secret=st.binary(max_size=32).map(lambda secret: secret.rstrip(b"\0")),
    threads=st.integers(0, (1 << 32) - 1),
    flows=st.integers(0, (1 << 32) - 1),
    test_length=st.integers(-(1 << 31), (1 << 31) - 1),
    client_number=st.integers(0, (1 << 32) - 1),
    max_pacing_rate=st.integers(0, (1 << 64) - 1),
    rate=st.integers(0, (1 << 64) - 1),
)


def test_a_hello_is_what_neper_sends() -> None:
    hello = Message(Kind.HELLO, 42, SECRET, threads=2, flows=5, test_length=-5, max_pacing_rate=5000)
    assert hello.pack() == HELLO
    assert parse(HELLO) == hello


@given(messages)
def test_parsing_undoes_packing(message: Message) -> None:
    assert parse(message.pack()) == message


def test_a_number_that_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match=r"rate=-1"):
        Message(Kind.DONE, 42, rate=-1).pack()


def test_an_unknown_type_is_told_with_the_known_ones() -> None:
    with pytest.raises(BadMessage, match=r"type 7 \(magic 9\) came; the types are 1 HELLO, 2 ACK, 3 DONE, 4 BYE"):
        parse(struct.pack("!32sii32x", b"", 9, 7))


def test_another_size_is_told() -> None:
    with pytest.raises(BadMessage, match=r"has 72 bytes, these are 71"):
        parse(HELLO[:-1])


@pytest.mark.parametrize(("kind", "magic"), [(Kind.ACK, 42), (Kind.HELLO, 43)])
def test_what_is_not_due_is_told(kind: Kind, magic: int) -> None:
    with pytest.raises(BadMessage, match=rf"{kind.name} with magic {magic} was due, and HELLO with magic 42 came"):
        expect(parse(HELLO), kind, magic)


def drain(inbox: Inbox) -> tuple[list[Message], int]:
    """The messages that are complete, and how many of them were none."""
    found: list[Message] = []
    bad = 0
    while True:
        try:
            message = inbox.next()
        except BadMessage:
            bad += 1
            continue
        if message is None:
            return found, bad
        found.append(message)


@given(st.lists(messages), st.binary(max_size=SIZE - 1), st.data())
def test_messages_come_whole_however_they_were_cut(sent: list[Message], rest: bytes, data: st.DataObject) -> None:
    stream = b"".join(message.pack() for message in sent) + rest
    inbox = Inbox()
    received: list[Message] = []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        inbox.add(stream[:size])
        stream = stream[size:]
        received += drain(inbox)[0]
    assert received == sent
    assert inbox.left == len(rest)


@given(st.lists(st.binary(max_size=200)))
def test_any_bytes_are_messages_or_bad_ones(pieces: list[bytes]) -> None:
    inbox = Inbox()
    count = 0
    for piece in pieces:
        inbox.add(piece)
        found, bad = drain(inbox)
        count += len(found) + bad
    assert count * SIZE + inbox.left == sum(map(len, pieces))
