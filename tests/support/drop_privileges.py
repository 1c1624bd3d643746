"""Run pytest as an ordinary user: `python drop_privileges.py PYTEST-ARGUMENTS`.

The checkout, its environment and the interpreter may lie below a folder that only root may enter
(/root, or a temporary folder of root's), where an ordinary user could not even start Python.
Dropping the privileges of a process that has everything imported is no way out: it could not import
what a test needs late, nor start another Python. Copies of an interpreter are large. So this
process takes a mount namespace of its own and, in there only, lays over each such folder a twin
that anyone may enter, with the same things in it. Then it is an ordinary user's in every respect.
"""

import ctypes
import os
import stat
import sys
import tempfile
from pathlib import Path

# The user nobody: no account whose limits or files matter.
ORDINARY_ID = 65534

# Of <linux/sched.h> and <linux/mount.h>.
_CLONE_NEWNS = 0x00020000
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_PRIVATE = 0x40000

_ENTER_AND_LIST = stat.S_IXOTH | stat.S_IROTH


def mapped_ids() -> int:
    """How many user ids this process's user namespace knows: few in one that a user made for itself."""
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    return sum(int(line.split()[2]) for line in lines)


def may_drop() -> bool:
    """Whether this process is a root that can become another user."""
    return os.geteuid() == 0 and mapped_ids() > ORDINARY_ID


def closed_folder(path: Path) -> Path | None:
    """The first folder on the way to `path`, itself included, that others may not enter."""
    for folder in [*reversed(path.parents), path]:
        mode = folder.stat().st_mode
        if stat.S_ISDIR(mode) and mode & _ENTER_AND_LIST != _ENTER_AND_LIST:
            return folder
    return None


def main() -> None:
    """Run pytest as an ordinary user, if this is a root that can, with a home to write to."""
    command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
    if not may_drop():
        os.execv(sys.executable, command)
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, ORDINARY_ID, ORDINARY_ID)
        pid = os.fork()
        if pid == 0:
            _open_the_way(Path(home).parent)
            os.setgroups([])
            os.setresgid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID)
            os.setresuid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID)
            os.execve(sys.executable, [*command, f"--basetemp={home}/tests"], _environment(home))
        _, status = os.waitpid(pid, 0)
    sys.exit(os.waitstatus_to_exitcode(status))


def _environment(home: str) -> dict[str, str]:
    own = {"HOME": home, "TMPDIR": home, "HYPOTHESIS_STORAGE_DIRECTORY": f"{home}/hypothesis"}
    return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"}


def _open_the_way(temporary: Path) -> None:
    here = os.getcwd()
    names = [here, temporary, sys.prefix, sys.base_prefix, *sys.path]
    paths = [Path(name).resolve() for name in names if os.path.exists(name)]
    if any(closed_folder(path) for path in paths):
        _call("unshare", _CLONE_NEWNS)
        _mount(None, Path("/"), None, _MS_REC | _MS_PRIVATE)
        for path in paths:
            while (folder := closed_folder(path)) is not None:
                _lay_twin_over(folder)
        os.chdir(here)


def _lay_twin_over(folder: Path) -> None:
    # Left open: the way to what the twin covers, until pytest takes this process over.
    original = Path(f"/proc/self/fd/{os.open(folder, os.O_PATH)}")
    entries = list(original.iterdir())
    _mount("tmpfs", folder, "tmpfs", 0, "mode=755")
    for entry in entries:
        twin = folder / entry.name
        if entry.is_symlink():
            twin.symlink_to(entry.readlink())
        else:
            twin.mkdir() if entry.is_dir() else twin.touch()
            _mount(str(entry), twin, None, _MS_BIND | _MS_REC)


def _mount(source: str | None, target: Path, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [text and os.fsencode(text) for text in (source, str(target), kind, data)]
    _call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def _call(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}{arguments}: {os.strerror(code)}")


if __name__ == "__main__":
    main()
