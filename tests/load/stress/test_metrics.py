"""stress-ng's metrics: its arithmetic and its file."""

from __future__ import annotations

import re

import pytest

from fourtuple.load.stress.metrics import UNITS, Ending, Metrics, yaml

# Two instances, as stress-ng printed them.
MEASURED = Metrics("sockmany", 2, 28854, Ending(2.565461, 0.047187, 2.757293, 2424, ()))
FILE = """\
---
metrics:
    - stressor: sockmany
      bogo-ops: 28854
      bogo-ops-per-second-usr-sys-time: 10288.538339
      bogo-ops-per-second-real-time: 11247.103315
      wall-clock-time: 2.565461
      user-time: 0.047187
      system-time: 2.757293
      cpu-usage-per-instance: 54.658412
      max-rss: 2424

...
"""


def test_the_figures_are_those_that_stress_ng_computes() -> None:
    values = MEASURED.values()
    for name, value in re.findall(r"([\w-]+-(?:time|instance)): ([\d.]+)", FILE):
        assert values[name] == pytest.approx(float(value), rel=1e-6)


def test_the_file_has_stress_ngs_form() -> None:
    def shape(text: str) -> str:
        return re.sub(r"\d+\.\d{6}", "0.0", text)

    assert shape(yaml(MEASURED)) == shape(FILE)


def test_a_run_without_time_has_rates_of_0() -> None:
    values = Metrics("sockdiag", 1, 0, Ending(0.0, 0.0, 0.0, 0, ())).values()
    assert [value for value in values.values() if value] == ["sockdiag"]


def test_every_metric_has_a_unit() -> None:
    assert list(MEASURED.values()) == list(UNITS)
