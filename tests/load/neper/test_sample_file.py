"""The files that grow with a run."""

from __future__ import annotations

import io
import threading

from fourtuple.load.neper.iostat import Iostat
from fourtuple.load.neper.program import Line
from fourtuple.load.neper.sample_file import SampleFile, usage_columns
from load.neper.fakes import SECOND, FakeWorker


def test_each_flow_has_a_row_for_each_sample() -> None:
    file = io.StringIO()
    workers = [FakeWorker((1, 2)), FakeWorker((5,))]
    no_thread = 0
    samples = SampleFile(file, workers, [no_thread, no_thread], things="transactions", percentiles=(50.0,), now=SECOND)
    workers[0].do(10, 3_000_000)
    workers[1].do(1, 5_000_000)
    samples.sample(3 * SECOND + 5)
    header, *rows = file.getvalue().splitlines()
    assert header == (
        "tid,flow_id,time,transactions,transactions/s,utime,stime,maxrss,minflt,majflt,nvcsw,nivcsw,"
        "latency_min,latency_mean,latency_max,latency_stddev,latency_p50"
    )
    usage = "0.000000,0.000000,0,0,0,0,0"
    first = f"{usage},0.003000,0.003000,0.003000,0.000000,0.003000"
    assert rows == [
        f"0,0,3.000000005,11,5.00,{first}",
        f"0,1,3.000000005,2,0.00,{first}",
        f"1,0,3.000000005,6,0.50,{usage},0.005000,0.005000,0.005000,0.000000,0.005000",
    ]


def test_flows_that_come_later_get_rows_from_then_on() -> None:
    file = io.StringIO()
    worker = FakeWorker((1,))
    samples = SampleFile(file, [worker], [0], things="bytes_read", percentiles=(), now=SECOND)
    worker.of_flow.append(8)
    samples.sample(3 * SECOND)
    assert [row.split(",")[1:5] for row in file.getvalue().splitlines()[1:]] == [
        ["0", "3.000000000", "1", "0.00"],
        ["1", "3.000000000", "8", "4.00"],
    ]


def test_the_columns_of_usage_are_those_of_the_thread() -> None:
    stat = "7 (a) b) S " + " ".join(str(number) for number in range(4, 53))
    status = "Name:\ta: b\nVmHWM:\t  2048 kB\nvoluntary_ctxt_switches:\t21\nnonvoluntary_ctxt_switches:\t22\n"
    assert usage_columns(stat, status, 100) == "0.140000,0.150000,2048,10,12,21,22"


def test_a_thread_that_runs_has_usage() -> None:
    file = io.StringIO()
    samples = SampleFile(
        file, [FakeWorker()], [threading.get_native_id()], things="transactions", percentiles=(), now=0
    )
    samples.sample(SECOND)
    maxrss = file.getvalue().splitlines()[1].split(",")[7]
    assert int(maxrss) > 0


def test_iostat_tells_what_came_on_top() -> None:
    worker = FakeWorker()
    lines: list[Line] = []
    iostat = Iostat([worker], SECOND // 4, 10 * SECOND, lines.append)
    assert iostat.due == 10 * SECOND + SECOND // 4
    worker.do(1000, 1)
    iostat.sample(10 * SECOND + SECOND // 4)
    worker.do(10, 1)
    iostat.sample(10 * SECOND + SECOND // 2)
    texts = [
        "0.250      TX:   1000 ops,       2000 bytes,      0.1 Mbps; RX:   1000 ops,       3000 bytes,      0.1 Mbps;",
        "0.500      TX:     10 ops,         20 bytes,      0.0 Mbps; RX:     10 ops,         30 bytes,      0.0 Mbps;",
    ]
    assert lines == [("t", text) for text in texts]
    assert iostat.due == 10 * SECOND + 3 * SECOND // 4
