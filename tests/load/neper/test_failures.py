"""Failures by kind."""

from __future__ import annotations

import errno

import pytest

from fourtuple.load.neper.failures import KINDS, by_kind, told


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ECONNREFUSED, "refused"),
        (errno.ETIMEDOUT, "timed_out"),
        (errno.EADDRNOTAVAIL, "no_port"),
        (errno.EADDRINUSE, "no_port"),
        (errno.ECONNRESET, "reset"),
        (0, "closed"),
        (errno.ENETUNREACH, "unreachable"),
        (errno.EHOSTUNREACH, "unreachable"),
        (errno.EMFILE, "files"),
        (errno.EPROTO, "other"),
    ],
)
def test_each_has_its_kind(code: int, kind: str) -> None:
    assert by_kind({code: 3}) == dict.fromkeys(KINDS, 0) | {kind: 3}


def test_words_leave_out_what_did_not_happen() -> None:
    assert told({errno.ECONNREFUSED: 3, errno.ETIMEDOUT: 1}) == "3 refused, 1 timed_out"
    assert told({}) == "no failures"
