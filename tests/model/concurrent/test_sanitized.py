"""The compiled tables under ThreadSanitizer, as they are and broken on purpose.

ThreadSanitizer follows which accesses are ordered by what. Fields of nodes are read and written plainly, so it reports
a reader of a node that is already used again, or not yet published, as a data race, whether or not anything came of it.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

import fourtuple
from support.needs import Need, program, requires

CONCURRENT = Path("fourtuple", "model", "concurrent")
STRESS = Path(__file__).with_name("stress.py")
ROUNDS = 10_000
RACES = 66
"""The exit status for races; 1 says that the stress test itself found a fault."""


def runtime() -> str:
    """The path of gcc's ThreadSanitizer; its bare name if gcc has none."""
    asked = subprocess.run(["gcc", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def _lack() -> str | None:
    if shutil.which("gcc") is None:
        return "no gcc on PATH"
    return None if Path(runtime()).is_absolute() else "gcc has no libtsan"


SANITIZER = Need("gcc's ThreadSanitizer", _lack, can_be_met=True)

pytestmark = [pytest.mark.build, pytest.mark.timeout(600), requires(SANITIZER, program("setarch"))]


@dataclass(frozen=True)
class Fault:
    """Text of a file that is replaced, the module to compile anew, and the form of the tables that this breaks."""

    file: str
    before: str
    after: str
    module: str
    form: str


STORE = "__atomic_store_n(words + place, value, __ATOMIC_SEQ_CST)"
UNLOCK = "__atomic_store_n(words + place, 0, __ATOMIC_RELEASE)"
RECHECK = "owner == 0 or self._chains.walk(chain, keys.addresses, ports) == 0"
FAULTS = {
    "no recheck": Fault("tables.py", RECHECK, "True", "tables", "rcu"),
    "no grace period": Fault("epochs.py", "_GRACE = 2", "_GRACE = 0", "epochs", "rcu"),
    "readers unseen": Fault("epochs.py", "atomics.load(self._words, _EPOCH) + 1)", "0)", "epochs", "rcu"),
    "unordered publication": Fault("catomics.pxd", STORE, STORE.replace("SEQ_CST", "RELAXED"), "chains", "rcu"),
    "unordered unlock": Fault("catomics.pxd", UNLOCK, UNLOCK.replace("RELEASE", "RELAXED"), "chains", "locked"),
}


def compile_module(source: Path, types: Path) -> None:
    """Compile the module of a .pxd file for the sanitizer, in its place."""
    stem = types.with_suffix("")
    directives = ["annotation_typing=False", "boundscheck=False", "wraparound=False", "initializedcheck=False"]
    options = [word for directive in (*directives, "cdivision=True") for word in ("-X", directive)]
    made = types.with_suffix(".c")
    cython = [sys.executable, "-m", "cython", "-3", *options, "-I", source, types.with_suffix(".py"), "-o", made]
    subprocess.run(cython, check=True)
    flags = ["-O1", "-fsanitize=thread", "-shared", "-fPIC", f"-I{sysconfig.get_path('include')}"]
    extension = f"{stem}{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["gcc", *flags, made, "-o", extension], check=True)


def stressed(source: Path, form: str) -> subprocess.CompletedProcess[str]:
    """The stress test in a process of its own, whose addresses lie where the sanitizer wants them."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source),
        "LD_PRELOAD": runtime(),
        "TSAN_OPTIONS": f"exitcode={RACES} report_signal_unsafe=0",
    }
    command = ["setarch", "-R", sys.executable, "-B", str(STRESS), form, str(ROUNDS)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a copy of the package whose concurrent tables are compiled for the sanitizer."""
    source = tmp_path_factory.mktemp("sound")
    shutil.copytree(fourtuple.__path__[0], source / "fourtuple", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for types in sorted((source / CONCURRENT).glob("*.pxd")):
        if types.with_suffix(".py").exists():
            compile_module(source, types)
    return source


@pytest.mark.parametrize("form", ["locked", "rcu"])
def test_the_tables_have_no_data_race(sound: Path, form: str) -> None:
    run = stressed(sound, form)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", FAULTS)
def test_a_broken_build_is_caught(sound: Path, tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    source = tmp_path / "src"
    shutil.copytree(sound, source)
    file = source / CONCURRENT / fault.file
    text = file.read_text()
    assert text.count(fault.before) == 1
    file.write_text(text.replace(fault.before, fault.after))
    compile_module(source, source / CONCURRENT / f"{fault.module}.pxd")
    run = stressed(source, fault.form)
    assert run.returncode in (1, RACES), run.stderr
    assert "worker" in run.stderr or "data race" in run.stderr
