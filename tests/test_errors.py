"""What fourtuple raises: the words, the figures, and that callers and pickles can handle it."""

from __future__ import annotations

import copy
import errno
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.errors import (
    FourtupleError,
    NamespacesRefused,
    NoSuchLocalAddress,
    PortsExhausted,
    Shortage,
    Unsupported,
)

SHORTAGE = Shortage(
    source="192.0.2.1",
    destination="[2001:db8::1]:443",
    low=10_000,
    high=10_999,
    leased=600,
    cooling=250,
    foreign=100,
    excluded=40,
    free=10,
    next_free=12.34,
)
ERRORS: list[FourtupleError] = [
    PortsExhausted(SHORTAGE, ("sleep", "eat", "repeat")),
    NoSuchLocalAddress(None, "[::1]:80"),
    NoSuchLocalAddress("192.0.2.9", "192.0.2.2:80"),
    NamespacesRefused(errno.EPERM, "become root"),
    Unsupported(errno.ENOPROTOOPT, "the tap", "drink elsewhere"),
]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_all_are_errors_that_callers_handle_already(error: FourtupleError) -> None:
    assert isinstance(error, OSError)
    assert isinstance(error.errno, int)
    assert isinstance(error.strerror, str)
    assert error.strerror in str(error)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_all_survive_pickling(error: FourtupleError, protocol: int) -> None:
    loaded = pickle.loads(pickle.dumps(error, protocol))
    for again in (loaded, copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert again.args == error.args
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_no_port_left_and_no_such_address_share_their_number_only() -> None:
    exhausted, no_address = ERRORS[0], ERRORS[1]
    assert isinstance(exhausted, PortsExhausted)
    assert isinstance(no_address, NoSuchLocalAddress)
    assert exhausted.errno == no_address.errno == errno.EADDRNOTAVAIL
    assert not isinstance(exhausted, NoSuchLocalAddress)
    assert not isinstance(no_address, PortsExhausted)


def test_exhaustion_is_told_with_all_figures_and_steps() -> None:
    error = PortsExhausted(SHORTAGE, ("sleep", "eat", "repeat"))
    assert error.shortage is SHORTAGE
    assert error.remedies == ("sleep", "eat", "repeat")
    assert str(error) == (
        "[Errno 99] no source port left from 192.0.2.1 to [2001:db8::1]:443: range 10000-10999 (1000 ports): "
        "600 in use here, 250 cooling, 100 held by others, 40 reserved, 10 kept free by a limit; "
        "the next one frees in 12.3 s; 1) sleep; 2) eat; 3) repeat"
    )


def test_figures_that_are_nothing_out_of_the_ordinary_are_left_out() -> None:
    text = str(PortsExhausted(replace(SHORTAGE, excluded=0, free=0, next_free=None), ()))
    assert text.endswith("(1000 ports): 600 in use here, 250 cooling, 100 held by others")


@pytest.mark.parametrize(("next_free", "text"), [(0.0, "in 0.0 s"), (59.96, "in 60.0 s")])
def test_a_port_that_is_due_is_announced(next_free: float, text: str) -> None:
    assert f"; the next one frees {text}" in str(PortsExhausted(replace(SHORTAGE, next_free=next_free), ()))


@given(st.integers(1, 65535), st.integers(1, 65535))
def test_the_size_of_a_range_counts_both_ends(low: int, high: int) -> None:
    low, high = sorted((low, high))
    assert replace(SHORTAGE, low=low, high=high).size == len(range(low, high + 1))


def test_without_a_source_the_destination_is_in_question() -> None:
    error = NoSuchLocalAddress(None, "[::1]:80")
    assert (error.source, error.destination) == (None, "[::1]:80")
    assert "no local address that reaches [::1]:80; ports are not the matter" in str(error)
    assert "net.ipv6.conf.*.disable_ipv6" in str(error)


def test_a_source_that_no_interface_has_is_named() -> None:
    error = NoSuchLocalAddress("192.0.2.9", "192.0.2.2:80")
    assert (error.source, error.destination) == ("192.0.2.9", "192.0.2.2:80")
    assert "no interface of this machine has the source address 192.0.2.9 (towards 192.0.2.2:80)" in str(error)
    assert "freebind" in str(error)


def test_refused_namespaces_say_what_to_turn() -> None:
    error = NamespacesRefused(errno.EPERM, "become root")
    assert (error.errno, error.remedy) == (errno.EPERM, "become root")
    assert str(error) == "[Errno 1] cannot make a network namespace (Operation not permitted): become root"


def test_a_missing_feature_is_named_with_what_to_do_without_it() -> None:
    error = Unsupported(errno.ENOPROTOOPT, "the tap", "drink elsewhere")
    assert (error.errno, error.feature, error.remedy) == (errno.ENOPROTOOPT, "the tap", "drink elsewhere")
    assert str(error) == "[Errno 92] the tap is not available here (Protocol not available): drink elsewhere"
