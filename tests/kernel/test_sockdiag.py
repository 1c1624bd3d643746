"""``fourtuple sockdiag`` as a user meets it, in small."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from kernel.commands import FOURTUPLE, STRESSING, half_way
from load.processes import all_end, descendants

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("netns")]


@pytest.fixture
def five_sockets(netns: object) -> Generator[None, None, None]:
    """Five AF_UNIX sockets with names: ten attributes."""
    with ExitStack() as stack:
        for number in range(5):
            stack.enter_context(socket.socket(socket.AF_UNIX)).bind(f"\0fourtuple-{number}")
        yield


def sockdiag(*arguments: str, exit_code: int = 0) -> str:
    result = subprocess.run(
        [*FOURTUPLE, "sockdiag", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert result.returncode == exit_code, result.stdout + result.stderr
    assert result.stderr == ""
    return result.stdout


def document(*arguments: str) -> dict[str, Any]:
    return json.loads(sockdiag("--json", *arguments))


def assert_whole(found: dict[str, Any]) -> None:
    assert found["metrics"]["bogo-ops"] == 1000
    assert found["dumps"] == 100
    assert found["unix_sockets"] == {"at_start": 5, "least": 5, "greatest": 5, "at_end": 5, "per_dump": 5.0}
    assert found["failures"] == {}
    assert found["complaints"] == []


@pytest.mark.usefixtures("five_sockets")
def test_it_counts_attributes_and_adds_no_socket_of_its_own() -> None:
    assert_whole(document("--sockdiag", "2", "--sockdiag-ops", "1000"))


@pytest.mark.unprivileged
@pytest.mark.usefixtures("five_sockets")
def test_an_ordinary_user_gets_the_same() -> None:
    assert_whole(document("--sockdiag", "2", "--sockdiag-ops", "1000"))


def test_without_sockets_it_says_that_there_is_nothing_to_count() -> None:
    text = sockdiag("-t", "0.1")
    assert "none in this network namespace" in text
    assert re.search(r"^ ?sockdiag +0 ", text, re.MULTILINE)


@pytest.mark.usefixtures("five_sockets")
def test_the_terminal_gets_the_population() -> None:
    text = sockdiag("--sockdiag-ops", "100")
    assert max(map(len, text.splitlines())) <= 80
    assert "5 at the start, 5 at least, 5 at most, 5 at the end" in text
    assert re.search(r"^dumps +10, with 5\.0 sockets each", text, re.MULTILINE)


@pytest.mark.usefixtures("five_sockets")
def test_a_population_that_changes_is_seen() -> None:
    with half_way(STRESSING, "sockdiag", "--json") as (process, _):
        with socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX):
            before = document("--sockdiag-ops", "1")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert before["unix_sockets"]["at_start"] == 7
    population = json.loads(output)["unix_sockets"]
    assert (population["at_start"], population["least"], population["greatest"], population["at_end"]) == (5, 5, 7, 5)


@pytest.mark.usefixtures("five_sockets")
def test_interrupted_it_prints_what_it_has_and_leaves_no_process() -> None:
    with half_way(STRESSING, "sockdiag", "--instances", "2", "--json") as (process, rest_of_screen):
        started = descendants(process.pid)
        assert len(started) == 2
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert "Interrupted." in rest_of_screen()
    assert process.returncode == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    found = json.loads(output)
    # Each of the two may have ended between counting attributes and counting the dump.
    assert 0 <= found["metrics"]["bogo-ops"] - 10 * found["dumps"] <= 20


@pytest.mark.usefixtures("five_sockets")
def test_a_process_killed_mid_run_is_named_while_the_other_goes_on() -> None:
    with half_way(STRESSING, "sockdiag", "--instances", "2", "--json") as (process, _):
        started = descendants(process.pid)
        os.kill(min(started), signal.SIGKILL)
        assert all_end({min(started)})
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert all_end(started)
    (complaint,) = json.loads(output)["complaints"]
    assert "was killed by SIGKILL after" in complaint
