"""The threads of a run."""

from __future__ import annotations

import errno
from typing import Any, cast

import pytest

from fourtuple.errors import Unsupported
from fourtuple.load.neper.stopping import Bell
from fourtuple.load.neper.team import Team


class Refused:
    """A worker, and a loop that the kernel refuses once its thread runs."""

    started = False

    @property
    def loop(self) -> Refused:
        return self

    def run(self, gate: int) -> None:
        raise Unsupported(errno.EPERM, "this loop", "use another")

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_a_loop_that_cannot_start_is_no_wait_for_ever() -> None:
    bell = Bell()
    team = Team([cast("Any", Refused())], bell)
    team.start()
    bell.wait((), 60)
    assert team.started
    with pytest.raises(Unsupported, match="this loop is not available here"):
        team.go()
    team.stop()
    team.close()
