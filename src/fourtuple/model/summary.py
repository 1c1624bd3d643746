"""The figures of an experiment: of each counter the mean and the distribution over the connects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, quantiles

from .experiment import Outcome
from .trace import COUNTERS


@dataclass(frozen=True, slots=True)
class Summary:
    """Of one counter: its mean, least, median, 95th percentile and greatest value for one connect()."""

    mean: float
    least: int
    median: float
    p95: float
    greatest: int


def summaries(outcome: Outcome) -> dict[str, Summary]:
    """A summary for each counter of the traces."""
    return {name: _summary([getattr(trace, name) for trace in outcome.traces]) for name in COUNTERS}


def document(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """The summaries of versions as a JSON document has them, with the steps of the last connect where recorded."""
    return {
        outcome.version: {
            "connects": len(outcome.traces),
            "counters": {name: asdict(summary) for name, summary in summaries(outcome).items()},
            "steps": [asdict(step) for step in outcome.steps],
        }
        for outcome in outcomes
    }


def _summary(values: list[int]) -> Summary:
    cuts = quantiles(values, n=20, method="inclusive") if len(values) > 1 else values * 19
    return Summary(fmean(values), min(values), cuts[9], cuts[18], max(values))
