"""The machine that a figure was measured on."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from fourtuple.linux.limits import allowed_cpus


@dataclass(frozen=True, slots=True)
class Machine:
    """Kernel release, architecture, processor, the number of CPUs allowed to this process, and its Python."""

    kernel: str
    architecture: str
    cpu: str
    cpus: int
    python: str

    def __str__(self) -> str:
        return f"kernel {self.kernel}, {self.cpu}, {self.cpus} CPUs, Python {self.python}"


def this_machine() -> Machine:
    """Describe the machine this process runs on."""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as cpuinfo:
        cpu = cpu_model(cpuinfo.read())
    architecture = platform.machine()
    return Machine(
        kernel=platform.release(),
        architecture=architecture,
        cpu=cpu or architecture,
        cpus=len(allowed_cpus()),
        python=platform.python_version(),
    )


def cpu_model(cpuinfo: str) -> str | None:
    """Return the processor's name in the text of ``/proc/cpuinfo``, or None (as on Arm)."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return None
