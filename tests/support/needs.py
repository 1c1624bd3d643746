"""What a test may need of its machine: the only reasons for which a test may be skipped.

Each need finds out for itself, without the package under test: were a broken package to answer,
its own tests would be excused.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from support.drop_privileges import mapped_ids

# The ids of the machine's own user namespace: all of 32 bits but the one that means none.
_ALL_IDS = 2**32 - 1


@dataclass(frozen=True)
class Need:
    """Something a machine has or lacks.

    `lack` tells why it is missing, or None where it is there. A need that `can_be_met` is a matter
    of installing something; one that cannot excuses its tests where no test may be skipped.
    """

    name: str
    lack: Callable[[], str | None]
    can_be_met: bool = False


def requires(*needs: Need) -> pytest.MarkDecorator:
    """Mark a test, class or module: skip it where one of `needs` is missing."""
    return pytest.mark.requires(*needs)


def program(name: str) -> Need:
    """The need of a program on PATH."""

    def lack() -> str | None:
        return None if shutil.which(name) else "not on PATH"

    return Need(f"the program {name}", lack, can_be_met=True)


def _root_lack() -> str | None:
    if os.geteuid() != 0:
        return f"uid {os.geteuid()}"
    return None if mapped_ids() == _ALL_IDS else "root of a user namespace only"


# A namespace is of use only if a sysctl in it can be set: containers mount /proc/sys read-only.
def _namespace_lack(*how: str) -> str | None:
    script = "echo 20000 20010 > /proc/sys/net/ipv4/ip_local_port_range"
    command = ["unshare", *how, "--net", "sh", "-c", script]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if tried.returncode == 0 else tried.stderr.strip()


def _user_namespace_lack() -> str | None:
    return _namespace_lack("--user", "--map-root-user")


def _any_namespace_lack() -> str | None:
    own = _namespace_lack()
    return own and _user_namespace_lack() and f"{own}; {_user_namespace_lack()}"


ROOT = Need("root", _root_lack)
NAMESPACES = Need("network namespaces", _any_namespace_lack)
USER_NAMESPACES = Need("user namespaces", _user_namespace_lack)
