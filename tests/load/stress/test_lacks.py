"""Kernels that lack what a stressor needs, or a part of it."""

from __future__ import annotations

import errno

import pytest

from fourtuple.errors import Unsupported
from fourtuple.load.stress import sockdiag, sockmany
from fourtuple.load.stress.cells import ERRNOS, FIGURES, Cells
from fourtuple.load.stress.sockmany import Ports, Sockmany, open_sockmany
from fourtuple.load.stress.worker import Worker


class Refused(Worker):
    """A dumper whose kernel answers with an error."""

    def __init__(self, most: int, cells: Cells) -> None:
        super().__init__(cells, most)
        cells[FIGURES + 3 * ERRNOS + errno.ENOENT] = 1


def test_without_the_list_of_unix_sockets_sockdiag_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockdiag, "Dumper", Refused)
    with pytest.raises(Unsupported, match="load the module unix_diag") as caught:
        sockdiag.population()
    assert caught.value.errno == errno.ENOENT


def test_without_one_port_ranges_fourtuple_cannot_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockmany, "has_local_port_range", lambda: False)
    with (
        pytest.raises(Unsupported, match="leave the ports to the kernel"),
        open_sockmany(Sockmany(ports=Ports.FOURTUPLE)),
    ):
        pass
