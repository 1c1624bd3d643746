"""setuptools' build backend, which brings a C compiler along where the machine has none.

A compiler is taken from `$CC`, else the one Python was built with, else from PATH. When there is
none, `ziglang` (clang and its C libraries as a wheel) becomes a build requirement and compiles.
"""

import os
import shlex
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ConfigSettings: TypeAlias = Mapping[str, str | list[str] | None]

ZIG_REQUIREMENT = "ziglang>=0.13"

# The oldest C library asked for by what zig compiles: RHEL 8's, older than that of any distribution
# shipping Python 3.11. Left to itself zig takes the building machine's.
OLDEST_GLIBC = "2.28"


def find_compiler() -> str | None:
    """The C compiler of this machine as a command line, or None when it has none."""
    if "CC" in os.environ:
        return os.environ["CC"]
    python_own = sysconfig.get_config_var("CC") or ""
    for command in (python_own, "cc", "gcc", "clang"):
        if command and shutil.which(shlex.split(command)[0]):
            return command
    return None


def zig_compiler() -> str:
    """The command line of zig as a C compiler for this Python's platform.

    Naming the target is what makes the result portable: without it zig compiles for the very
    processor and C library it runs on.
    """
    machine, system, libc = (sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu").split("-")
    machine = {"i386": "x86"}.get(machine, machine)
    target = f"{machine}-{system}-{libc}" + (f".{OLDEST_GLIBC}" if libc.startswith("gnu") else "")
    # Debian's pyconfig.h includes another by its path from the folder above; zig's own headers of
    # the C library go before whatever else lies there.
    others = Path(sysconfig.get_path("include")).parent
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-idirafter", str(others)]
    return shlex.join(command)


def get_requires_for_build_wheel(config_settings: ConfigSettings | None = None) -> list[str]:
    """setuptools' requirements, and ziglang where there is no compiler (PEP 517)."""
    return build_meta.get_requires_for_build_wheel(config_settings) + _compiler_requirement()


def get_requires_for_build_editable(config_settings: ConfigSettings | None = None) -> list[str]:
    """setuptools' requirements, and ziglang where there is no compiler (PEP 660)."""
    return build_meta.get_requires_for_build_editable(config_settings) + _compiler_requirement()


def build_wheel(
    wheel_directory: str,
    config_settings: ConfigSettings | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel with the compiler that was found or brought along (PEP 517)."""
    _prepare_compiler()
    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: ConfigSettings | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Compile into src/ with the compiler that was found or brought along (PEP 660)."""
    _prepare_compiler()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)


def _compiler_requirement() -> list[str]:
    return [] if find_compiler() else [ZIG_REQUIREMENT]


# A build hook runs in a process of its own, so the environment is ours to set.
def _prepare_compiler() -> None:
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        raise FileNotFoundError(
            f"{header} is missing: compiling needs the headers of Python {sys.version.split()[0]}; "
            "install them (python3-dev on Debian and Ubuntu, python3-devel on Fedora)"
        )
    compiler = find_compiler()
    if compiler is None:
        compiler = zig_compiler()
        # zig keeps what it has compiled under $HOME, which may not be writable.
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(Path("build", "zig").absolute()))
    if compiler != sysconfig.get_config_var("CC"):
        os.environ["CC"] = compiler
        # Python's own link command names its own compiler and that compiler's options.
        os.environ.setdefault("LDSHARED", f"{compiler} -shared")
