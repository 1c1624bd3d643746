"""Ctrl-C, from the first line of the program to its last."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FrameType

import pytest

from fourtuple.cli.interrupts import interruptible

CHECKOUT = Path(__file__).parents[2]
RUN = "from fourtuple.cli.entry import main; main()"
INTERRUPTED = 130, "Interrupted.\n"


def run(*arguments: str, ignoring: bool = False) -> subprocess.CompletedProcess[str]:
    """Run Python, in the way of a job in the background if it is to be ``ignoring`` interrupts."""
    trap = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if ignoring else []
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [*trap, sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def end(process: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    return process.returncode, process.stderr


def test_the_program_starts_here() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"fourtuple": "fourtuple.cli.entry:main"}


def test_before_it_is_ready_it_imports_next_to_nothing() -> None:
    script = "import sys; before = set(sys.modules); import fourtuple.cli.entry; print(*set(sys.modules) - before)"
    imported = set(run("-c", script).stdout.split())
    assert imported - {"__future__"} == {"fourtuple", "fourtuple.cli", "fourtuple.cli.entry"}


def assert_interruptible(*arguments: str) -> None:
    process = run(str(Path(__file__).with_name("interrupting.py")), *arguments)
    copies, faults = json.loads(process.stdout.splitlines()[-1])
    assert copies > 100
    assert faults == []


# Commands that import all they may need and touch no network.
@pytest.mark.parametrize("arguments", [["--help"], ["doctor", "--help"], ["demo", "--levels", "0"]], ids=" ".join)
def test_whenever_it_is_interrupted_it_says_so_in_one_line(arguments: list[str]) -> None:
    assert_interruptible(*arguments)


@pytest.mark.kernel
@pytest.mark.usefixtures("netns")
def test_at_work_it_is_interrupted_in_the_same_way() -> None:
    assert_interruptible("doctor")


def test_when_all_is_done_it_is_interrupted_in_the_same_way() -> None:
    script = f"import atexit, signal; atexit.register(signal.raise_signal, signal.SIGINT); {RUN}"
    process = run("-c", script, "--help")
    assert process.stdout
    assert end(process) == INTERRUPTED


def test_interrupts_that_its_starter_ignores_stay_ignored() -> None:
    script = f"import atexit, signal; atexit.register(signal.raise_signal, signal.SIGINT); {RUN}"
    assert end(run("-c", script, "--help", ignoring=True)) == (0, "")


MEASURING = """
import signal
from fourtuple.cli import demo

def measure(*arguments):
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        print("put back")
        {then}
        raise

demo._measure = measure
"""


@pytest.mark.parametrize("then", ["pass", "signal.raise_signal(signal.SIGINT)"], ids=["once", "twice"])
def test_a_measurement_that_is_interrupted_puts_back_what_it_changed(then: str) -> None:
    process = run("-c", MEASURING.format(then=then) + RUN, "demo")
    assert process.stdout == "put back\n"
    assert end(process) == INTERRUPTED


def test_after_a_measurement_an_interrupt_ends_it_at_once() -> None:
    script = """
import signal
from fourtuple.cli.entry import leave
from fourtuple.cli.interrupts import interruptible

signal.signal(signal.SIGINT, leave)
with interruptible():
    pass
signal.raise_signal(signal.SIGINT)
"""
    assert end(run("-c", script)) == INTERRUPTED


def test_another_handler_of_interrupts_stays() -> None:
    def handle(signum: int, frame: FrameType | None) -> None:
        raise AssertionError("not raised here")

    before = signal.signal(signal.SIGINT, handle)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGINT) is handle
        assert signal.getsignal(signal.SIGINT) is handle
    finally:
        signal.signal(signal.SIGINT, before)
