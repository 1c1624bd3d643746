"""What may be asked of the stressors, and the errors that name what may not."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Callable

import pytest

from fourtuple.load.stress.run import TooFewFiles
from fourtuple.load.stress.sockdiag import Sockdiag
from fourtuple.load.stress.sockmany import PortInUse, Sockmany


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("instances", lambda: Sockmany(instances=0)),
        ("instances", lambda: Sockmany(instances=64513)),
        ("operations", lambda: Sockmany(operations=-1)),
        ("port", lambda: Sockmany(port=1023)),
        ("port", lambda: Sockmany(port=65536)),
        ("size", lambda: Sockmany(size=0)),
        ("size", lambda: Sockmany(size=32769)),
        ("instances", lambda: Sockdiag(instances=0)),
        ("operations", lambda: Sockdiag(operations=-1)),
    ],
)
def test_the_argument_that_is_wrong_is_named(name: str, make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be .*, not -?\d+$"):
        make()


def test_ports_follow_one_another_and_begin_again_at_1024() -> None:
    assert Sockmany(instances=3).listening_ports() == [51712, 51713, 51714]
    assert Sockmany(instances=3, port=65535).listening_ports() == [65535, 1024, 1025]


def test_a_port_in_use_is_named_with_what_to_do() -> None:
    error = pickle.loads(pickle.dumps(PortInUse("127.0.0.1", 51712)))
    assert error.errno == errno.EADDRINUSE
    assert "port 51712 of 127.0.0.1" in error.strerror
    assert "--sockmany-port" in error.strerror


def test_too_few_files_are_named_with_what_to_do() -> None:
    error = pickle.loads(pickle.dumps(TooFewFiles(9, 16, 32)))
    assert error.errno == errno.EMFILE
    assert "limit of 16" in error.strerror
    assert "ulimit -n (here to 32 at most" in error.strerror
