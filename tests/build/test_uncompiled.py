"""The package as plain Python: what serves tests and debugging, and an interpreter without the compiled modules."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fourtuple

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    source = tmp_path_factory.mktemp("uncompiled")
    shutil.copytree(
        fourtuple.__path__[0], source / "fourtuple", ignore=shutil.ignore_patterns("*.so", "*.pxd", "__pycache__")
    )
    return {**os.environ, "PYTHONPATH": str(source)}


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.pure
def test_no_module_is_compiled(environment: dict[str, str]) -> None:
    found = run(environment, "-c", "import fourtuple.ports.claim, sys; print(fourtuple.ports.claim.__file__)")
    assert found.stdout.strip().endswith("uncompiled0/fourtuple/ports/claim.py"), found.stderr


@pytest.mark.pure
def test_the_port_spaces_pass_their_tests(environment: dict[str, str]) -> None:
    # An uncompiled space must stay with one thread.
    tests = run(
        environment,
        "-m",
        "pytest",
        "-q",
        "tests/ports",
        "-k",
        "not test_threads and not machine and not is_compiled",
    )
    assert tests.returncode == 0, tests.stdout


@pytest.mark.pure
def test_what_the_loops_record_passes_its_tests(environment: dict[str, str]) -> None:
    tests = run(environment, "-m", "pytest", "-q", "tests/load/engine", "tests/load/stress")
    assert tests.returncode == 0, tests.stdout


@pytest.mark.pure
def test_the_model_passes_its_tests(environment: dict[str, str]) -> None:
    # The others are about the compiled form itself.
    compiled = ["--ignore=tests/model/concurrent/test_sanitized.py", "--ignore=tests/model/test_layout.py"]
    tests = run(environment, "-m", "pytest", "-q", "tests/model", *compiled)
    assert tests.returncode == 0, tests.stdout


@pytest.mark.kernel
@pytest.mark.parametrize(
    "module",
    [
        "connector_interrupted",
        "engine",
        "uring",
        "tcp_stream_loops",
        "tcp_stream_zero_copy",
        "connector_full",
        "socket_connect",
        "socket_life",
        "strategies",
        "tcp_info",
        "time_wait",
    ],
)
def test_connections_pass_their_tests(environment: dict[str, str], module: str) -> None:
    """Interruptions too, which meet every line of a module that is not compiled."""
    tests = run(environment, "-m", "pytest", "-q", f"tests/kernel/test_{module}.py")
    assert tests.returncode == 0, tests.stdout
