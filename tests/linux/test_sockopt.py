"""The value of a local port range."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from fourtuple.linux.sockopt import one_port, packed_range

PORTS = st.integers(0, 65535)


@given(PORTS, PORTS)
def test_a_range_is_a_u32_in_a_signed_int(low: int, high: int) -> None:
    assert struct.unpack("=I", struct.pack("=i", packed_range(low, high))) == (high << 16 | low,)


@given(PORTS)
def test_one_port_is_both_ends(port: int) -> None:
    assert one_port(port) == packed_range(port, port)
