"""One side of a comparison: what several runs of the same thing gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]
"""One value a run, in the order of the runs; NaN where a run lacks the metric."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What a report printed of a metric whose values are not known: the mean, and the standard deviation in per cent
    of it, None where it printed none (for a robot: at most 2 %, or one run)."""

    mean: float
    percent_stddev: float | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one side.

    ``name`` is short (a commit, a setting, a folder), ``title`` says more. ``runs`` counts them, those that failed
    too; 0 where a report does not tell. A metric is in ``values`` or in ``reported``, never in both. ``failures``:
    how many runs show each failure. ``facts``: what else is known of all of them (kernel, machine, testcase).
    """

    name: str
    title: str = ""
    runs: int = 0
    values: Mapping[str, Values] = field(default_factory=dict[str, Values])
    reported: Mapping[str, Reported] = field(default_factory=dict[str, Reported])
    failures: Mapping[str, int] = field(default_factory=dict[str, int])
    facts: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to compare: side ``a`` before, side ``b`` after.

    ``paired``: run i of either side belongs to the same block, so that differences within pairs count.
    ``changes``: what a report printed as change where it gives no values: in per cent, or a difference for metrics that
    are compared so (`fourtuple.bench.comparing.metrics`).
    ``order``: the metrics in the order of the report they come from, empty where none gives an order.
    """

    a: Side
    b: Side
    paired: bool = False
    changes: Mapping[str, float] = field(default_factory=dict[str, float])
    order: tuple[str, ...] = ()
