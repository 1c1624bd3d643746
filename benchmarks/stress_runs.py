"""Runs of one stressor, by fourtuple and by stress-ng, each in a network namespace of its own."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from fourtuple.linux.netns import network_namespace
from fourtuple.load.stress.sockdiag import population
from fourtuple.load.stress.sockmany import FIRST_PORT

STRESS_NG = shutil.which("stress-ng")
"""The program, None where it is not installed."""
FOURTUPLE = [sys.executable, "-m", "fourtuple"]

_PROGRAMS = {"fourtuple": FOURTUPLE, "stress-ng": [STRESS_NG or "stress-ng"]}


@dataclass(frozen=True)
class Setting:
    """What both run: the stressor, its instances, seconds, and named AF_UNIX sockets that are there."""

    stressor: str
    instances: int
    seconds: int
    sockets: int

    @property
    def flags(self) -> list[str]:
        port = ["--sockmany-port", str(FIRST_PORT)] if self.stressor == "sockmany" else []
        return [f"--{self.stressor}", str(self.instances), "-t", str(self.seconds), *port]


@dataclass(frozen=True)
class Pair:
    """Bogo operations a second of real time, by the two at the same setting, and the AF_UNIX sockets there were."""

    fourtuple: float
    stress_ng: float
    population: int

    @property
    def ratio(self) -> float:
        return self.fourtuple / self.stress_ng


def run_pair(setting: Setting, *, fourtuple_first: bool) -> Pair:
    """Run both, one after the other."""
    rates: dict[str, float] = {}
    found: set[int] = set()
    for program in sorted(_PROGRAMS, reverse=not fourtuple_first):
        with network_namespace(), ExitStack() as stack:
            for number in range(setting.sockets):
                sock = stack.enter_context(socket.socket(socket.AF_UNIX))
                sock.bind(f"\0stress-{number}")
            found.add(population())
            rates[program] = _rate(program, setting)
    (there,) = found
    return Pair(rates["fourtuple"], rates["stress-ng"], there)


def metrics(text: str) -> dict[str, str]:
    """The metrics in a YAML file of either program."""
    _, _, listed = text.partition("metrics:\n")
    return dict(re.findall(r"^ +(?:- )?([\w-]+): (.+)$", listed, re.MULTILINE))


def _rate(program: str, setting: Setting) -> float:
    command = [*_PROGRAMS[program], *([setting.stressor] if program == "fourtuple" else [])]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "metrics.yaml")
        subprocess.run(
            [*command, *setting.flags, "--metrics", "--yaml", str(file)],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        return float(metrics(file.read_text())["bogo-ops-per-second-real-time"])
