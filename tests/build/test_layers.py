"""The import contracts: the package keeps them, and each one notices when it is broken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(CHECKOUT / "src", tmp_path / "src")
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    return tmp_path


def lint_imports(checkout: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": f"{checkout}/src"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_package_keeps_its_contracts(checkout: Path):
    result = lint_imports(checkout)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        ("linux/__init__.py", "import fourtuple.ports.space", "The floors import downwards only"),
        ("linux/__init__.py", "import fourtuple.cli.main", "The floors import downwards only"),
        ("model/__init__.py", "import fourtuple.linux", "The floors import downwards only"),
        ("pressure/__init__.py", "import fourtuple.load", "The floors import downwards only"),
        ("attic/__init__.py", "", "The floors import downwards only"),
        ("bench/__init__.py", "import fourtuple.clients", "Benchmarks know nothing of operating"),
        ("lab/__init__.py", "import fourtuple.pressure", "The lab knows nothing of operating"),
        ("ports/space.py", "import fourtuple.linux.sysctl", "The pure core does no I/O"),
        ("ports/space.py", "import time", "The pure core does no I/O"),
    ],
)
def test_a_wrong_import_breaks_its_contract(checkout: Path, file: str, line: str, contract: str):
    for name in ("model", "pressure", "clients", "lab", "attic"):
        if file.startswith(name) or line.endswith(name):
            (checkout / "src/fourtuple" / name).mkdir(exist_ok=True)
            (checkout / "src/fourtuple" / name / "__init__.py").touch()
    with (checkout / "src/fourtuple" / file).open("a") as module:
        module.write(f"\n{line}\n")
    result = lint_imports(checkout)
    assert result.returncode == 1, result.stdout
    assert f"{contract}" in result.stdout
    assert "BROKEN" in next(row for row in result.stdout.splitlines() if contract in row)
