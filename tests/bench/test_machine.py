from __future__ import annotations

import os

from fourtuple.bench.machine import cpu_model, this_machine


def test_the_first_processor_names_the_model() -> None:
    text = "processor\t: 0\nmodel name\t: Example: 9000\nprocessor\t: 1\nmodel name\t: Other\n"
    assert cpu_model(text) == "Example: 9000"


def test_arm_has_no_model_name() -> None:
    assert cpu_model("processor\t: 0\nBogoMIPS\t: 50.00\n") is None


def test_this_machine_is_described() -> None:
    machine = this_machine()
    assert (machine.kernel, machine.architecture) == (os.uname().release, os.uname().machine)
    assert machine.cpus == len(os.sched_getaffinity(0))
    assert machine.cpu
