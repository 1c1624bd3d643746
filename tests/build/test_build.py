"""The package built from a copy of the checkout, on a machine without a C compiler."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from compiled_modules import CompiledModule, compiled_modules

# Whichever test is first builds, and zig compiles its C library first.
pytestmark = [pytest.mark.build, pytest.mark.timeout(900)]

CHECKOUT = Path(__file__).parents[2]
# What a clean checkout does not have, and what the build does not need.
LEFTOVERS = shutil.ignore_patterns(".*", "build", "dist", "tests", "__pycache__", "*.so", "*.egg-info")


@pytest.fixture(scope="module")
def modules() -> list[CompiledModule]:
    found = compiled_modules(CHECKOUT / "src")
    assert found, "no compiled module is left to build"
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an sdist and of the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("build")
    copy = shutil.copytree(CHECKOUT, folder / "copy", ignore=LEFTOVERS)
    nothing = folder / "nothing"
    nothing.mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "CC"}
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder / "dist", copy],
        env={**environment, "PATH": str(nothing)},
        check=True,
    )
    return folder / "dist"


def names(modules: list[CompiledModule]) -> set[str]:
    """What must be shipped, as paths below the folder of the top-level packages."""
    shipped = [path for module in modules for path in (module.source, module.types)]
    relative = {path.relative_to(CHECKOUT / "src").as_posix() for path in shipped}
    return {*relative, "fourtuple/py.typed"}


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_the_sdist_holds_what_the_build_needs(built: Path, modules: list[CompiledModule]):
    with tarfile.open(only(built, "*.tar.gz")) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{name}" for name in names(modules)} <= held
    assert {"setup.py", "backend/fourtuple_backend.py", "backend/compiled_modules.py"} <= held
    assert not [name for name in held if name.endswith((".c", ".so"))]


def test_the_wheel_holds_sources_types_and_extensions(built: Path, modules: list[CompiledModule]):
    with zipfile.ZipFile(only(built, "*.whl")) as wheel:
        held = set(wheel.namelist())
    assert names(modules) <= held
    assert not [name for name in held if name.endswith(".c")]
    assert len([name for name in held if name.endswith(".so")]) == len(modules)


def test_the_modules_of_the_wheel_are_compiled(built: Path, modules: list[CompiledModule], tmp_path: Path):
    with zipfile.ZipFile(only(built, "*.whl")) as wheel:
        wheel.extractall(tmp_path)
    for module in modules:
        script = f"import {module.name} as module; print(module.__file__)"
        imported = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        file = Path(imported.stdout.strip())
        assert file.is_relative_to(tmp_path)
        assert file.suffix == ".so"
