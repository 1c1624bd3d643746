"""Which compiler the build takes, and how it is called."""

import sysconfig
from pathlib import Path

import pytest

import fourtuple_backend
from compiled_modules import CompiledModule, compiled_modules

pytestmark = pytest.mark.pure


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder on PATH, empty; and no $CC."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    return tmp_path


def install(path: Path, name: str) -> None:
    (path / name).touch(mode=0o755)


def requirements() -> set[str]:
    wheel = fourtuple_backend.get_requires_for_build_wheel()
    assert wheel == fourtuple_backend.get_requires_for_build_editable()
    return set(wheel)


@pytest.mark.usefixtures("path")
def test_without_a_compiler_zig_is_required():
    assert fourtuple_backend.find_compiler() is None
    assert fourtuple_backend.ZIG_REQUIREMENT in requirements()


@pytest.mark.parametrize("name", ["cc", "gcc", "clang"])
def test_a_compiler_on_path_is_taken(path: Path, name: str):
    install(path, name)
    assert (fourtuple_backend.find_compiler() or "").split()[0] == name
    assert fourtuple_backend.ZIG_REQUIREMENT not in requirements()


def test_the_compiler_of_the_interpreter_goes_first(path: Path, monkeypatch: pytest.MonkeyPatch):
    install(path, "cc")
    install(path, "own-cc")
    monkeypatch.setattr(sysconfig, "get_config_var", {"CC": "own-cc -pthread"}.get)
    assert fourtuple_backend.find_compiler() == "own-cc -pthread"


@pytest.mark.usefixtures("path")
def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CC", "elsewhere/cc -m64")
    assert fourtuple_backend.find_compiler() == "elsewhere/cc -m64"


@pytest.mark.parametrize(
    ("platform", "target"),
    [
        ("x86_64-linux-gnu", "x86_64-linux-gnu.2.28"),
        ("i386-linux-gnu", "x86-linux-gnu.2.28"),
        ("arm-linux-gnueabihf", "arm-linux-gnueabihf.2.28"),
        ("aarch64-linux-musl", "aarch64-linux-musl"),
    ],
)
def test_zig_is_told_the_platform(monkeypatch: pytest.MonkeyPatch, platform: str, target: str):
    monkeypatch.setattr(sysconfig, "get_config_var", {"MULTIARCH": platform}.get)
    assert f" -m ziglang cc -target {target} " in fourtuple_backend.zig_compiler()


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(sysconfig, "get_path", {"include": str(tmp_path)}.get)
    with pytest.raises(FileNotFoundError, match=r"Python\.h is missing.*python3-dev"):
        fourtuple_backend.build_wheel(str(tmp_path))


def test_a_module_is_compiled_if_it_has_types_beside_it(tmp_path: Path):
    (tmp_path / "house" / "floor").mkdir(parents=True)
    for name in ("house/b.py", "house/b.pxd", "house/plain.py", "house/types_only.pxd"):
        (tmp_path / name).touch()
    (tmp_path / "house/floor/a.py").touch()
    (tmp_path / "house/floor/a.pxd").touch()
    assert compiled_modules(tmp_path) == [
        CompiledModule("house.b", tmp_path / "house/b.py", tmp_path / "house/b.pxd"),
        CompiledModule("house.floor.a", tmp_path / "house/floor/a.py", tmp_path / "house/floor/a.pxd"),
    ]
