"""Scripts in an interpreter of their own, for what a test runner's threads and warnings would disturb: fork()."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# What a child answers is its exit code; one that hangs is ended by a signal, which is no answer.
_PRELUDE = """
import os, signal, threading
from ports.fakes import SETTINGS, Clock, Sysctls
from fourtuple.ports.registry import Limits, SpaceRegistry
from fourtuple.ports.settings import SettingsCache
from fourtuple.ports.space import How

def in_child(ask):
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(ask())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

class Stuck(Sysctls):
    # Waits for ever at the second reading, with whatever is locked then.
    inside = threading.Event()

    def __call__(self):
        if self.readings:
            self.inside.set()
            threading.Event().wait()
        return super().__call__()
"""


def run(script: str) -> None:
    """Run a script that may use what ``_PRELUDE`` has; an error of it is the test's."""
    tests = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    subprocess.run([sys.executable, "-c", _PRELUDE + script], check=True, env=environment)
