"""What streams refuse before anything moves."""

from __future__ import annotations

import socket

import pytest

from fourtuple.load.engine.stream import READ, EdgeStream, Stream
from fourtuple.load.engine.stream_client import StreamClient
from fourtuple.load.engine.stream_reader import MappedReader, Reader
from fourtuple.load.engine.stream_writer import Writer, ZeroCopyWriter
from load.engine.workloads import flows


@pytest.mark.parametrize("end", [Reader, MappedReader, Writer, ZeroCopyWriter])
def test_a_size_that_is_none(end: type[Reader | Writer]) -> None:
    with pytest.raises(ValueError, match="size must be at least 1 byte, not 0"):
        end(0)


@pytest.mark.parametrize("stream", [Stream, EdgeStream])
def test_a_delay_that_is_none(stream: type[Stream]) -> None:
    with pytest.raises(ValueError, match="delay must be 0 nanoseconds or more, not -1"):
        stream(Reader(1), Writer(1), delay=-1)


def test_directions_are_for_each_flow() -> None:
    with pytest.raises(ValueError, match="directions are 1 for 2 flows"):
        StreamClient(flows(2, family=socket.AF_INET), Stream(Reader(1), Writer(1)), [READ])
