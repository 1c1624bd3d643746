"""Naming what failed."""

from __future__ import annotations

import errno

from fourtuple.load.stress.cells import ERRNOS, FIGURES, failures
from fourtuple.load.stress.worker import Worker
from load.stress import samples

OPERATIONS = {"connect": "", "recv": "closed"}


def test_failures_are_summed_and_named_by_call_and_error() -> None:
    first, second = samples.cells(), samples.cells()
    first[FIGURES + errno.ECONNREFUSED] = 2
    second[FIGURES + errno.ECONNREFUSED] = 3
    second[FIGURES + 200] = 1
    second[FIGURES + ERRNOS] = 4
    second[FIGURES + ERRNOS + errno.ECONNRESET] = 5
    assert failures([first, second], OPERATIONS) == {
        "connect": {"ECONNREFUSED": 5, "errno 200": 1},
        "recv": {"closed": 4, "ECONNRESET": 5},
    }


def test_where_nothing_failed_nothing_is_named() -> None:
    assert failures([samples.cells()], OPERATIONS) == {}


def test_a_worker_that_has_done_its_work_already_does_no_more() -> None:
    cells = samples.cells()
    cells[0] = 7
    Worker(cells, most=7).run()
    assert cells[0] == 7
