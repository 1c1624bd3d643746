"""Limits of this process."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fourtuple.linux import limits


def run(script: str) -> str:
    """Run in a process of its own, whose limits may be changed."""
    command = [sys.executable, "-c", f"from fourtuple.linux import limits\n{script}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    soft, hard = run(
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 128))\n"
        "raised = limits.raise_file_limit()\n"
        "assert limits.file_limit() == (raised, raised)\n"
        "print(64, raised)"
    ).split()
    assert (soft, hard) == ("64", "128")


def test_a_thread_is_pinned_alone() -> None:
    before = limits.allowed_cpus()
    with ThreadPoolExecutor(1) as other:
        last = other.submit(limits.pin_to_cpu, len(before) - 1).result()
        assert last == before[-1]
        assert other.submit(limits.allowed_cpus).result() == [last]
    assert limits.allowed_cpus() == before


@pytest.mark.parametrize("index", [-1, 1 << 20])
def test_a_cpu_that_is_not_there_is_named(index: int) -> None:
    with pytest.raises(ValueError, match=rf"^index: {index} "):
        limits.pin_to_cpu(index)
