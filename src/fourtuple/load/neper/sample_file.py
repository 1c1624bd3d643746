"""The file of ``--all-samples``: a row for every flow and every sample, written as the run goes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TextIO

from .counters import Counters, added
from .program import Worker

if TYPE_CHECKING:
    from fourtuple.load.engine.histogram import Histogram

_USAGE = "utime,stime,maxrss,minflt,majflt,nvcsw,nivcsw"


class SampleFile:
    """Writes to ``file``. ``things`` names what is counted; ``percentiles`` are those of the latency, if it is known.

    The loops know latencies by thread, so all flows of a thread have those of the thread in the interval. A rate is
    that of the flow in the interval.
    """

    def __init__(
        self,
        file: TextIO,
        workers: Sequence[Worker],
        thread_ids: Sequence[int],
        *,
        things: str,
        percentiles: Sequence[float],
        now: int,
    ) -> None:
        self._file = file
        self._percentiles = percentiles
        self._threads = list(zip(workers, thread_ids, strict=True))
        self._counters = [added([worker.counters()]) for worker in workers]
        self._of_flow = [list(worker.things_of_flow) for worker in workers]
        self._moment = now
        columns = ["tid", "flow_id", "time", things, f"{things}/s", _USAGE]
        if any("latency" in counters.histograms for counters in self._counters):
            columns += ["latency_min", "latency_mean", "latency_max", "latency_stddev"]
            columns += [f"latency_p{percent:g}" for percent in percentiles]
        file.write(",".join(columns) + "\n")

    def sample(self, now: int) -> None:
        """Write the rows of a sample."""
        seconds = max(1, now - self._moment) * 1e-9
        time = f"{now // 10**9}.{now % 10**9:09}"
        for number, (worker, thread_id) in enumerate(self._threads):
            counters = added([worker.counters()])
            shared = [thread_usage(thread_id), *self._latencies(counters, self._counters[number])]
            of_flow = list(worker.things_of_flow)
            for flow, (things, before) in enumerate(zip_longest(of_flow, self._of_flow[number], fillvalue=0)):
                row = [str(number), str(flow), time, str(things), f"{(things - before) / seconds:.2f}", *shared]
                self._file.write(",".join(row) + "\n")
            self._counters[number] = counters
            self._of_flow[number] = of_flow
        self._file.flush()
        self._moment = now

    def _latencies(self, now: Counters, before: Counters) -> list[str]:
        latency = now.since(before).histograms.get("latency")
        return [] if latency is None else _latency_columns(latency, self._percentiles)


def _latency_columns(latency: Histogram, percentiles: Sequence[float]) -> list[str]:
    values = [latency.least, latency.mean, latency.greatest, latency.stddev]
    values += [latency.percentile(percent) for percent in percentiles]
    return [f"{value * 1e-9:f}" for value in values]


def thread_usage(thread_id: int) -> str:
    """The usage columns of a thread of this process, by its number at the kernel; zeros once it has ended."""
    try:
        with open(f"/proc/self/task/{thread_id}/stat", encoding="ascii", errors="replace") as stat:
            stat_text = stat.read()
        with open(f"/proc/self/task/{thread_id}/status", encoding="ascii", errors="replace") as status:
            status_text = status.read()
    except OSError:
        return "0.000000,0.000000,0,0,0,0,0"
    return usage_columns(stat_text, status_text, os.sysconf("SC_CLK_TCK"))


def usage_columns(stat: str, status: str, ticks: int) -> str:
    """The same from the texts of ``stat`` and ``status``, see proc(5), with ``ticks`` a second."""
    # The fields after the name, which is in parentheses and may hold anything: the first is field 3.
    fields = stat.rpartition(")")[2].split()
    minflt, majflt, utime, stime = (int(fields[number - 3]) for number in (10, 12, 14, 15))
    entries = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    maxrss, voluntary, involuntary = (
        int(entries[name].split()[0]) for name in ("VmHWM", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    )
    return f"{utime / ticks:.6f},{stime / ticks:.6f},{maxrss},{minflt},{majflt},{voluntary},{involuntary}"
