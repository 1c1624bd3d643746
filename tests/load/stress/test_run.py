"""The processes of a run: how they start, end, and are told of."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
from functools import partial

import pytest

from fourtuple.linux.addresses import packed
from fourtuple.load.stress import run as under_test
from fourtuple.load.stress.cells import ClientCell, DumperCell, failures
from fourtuple.load.stress.client import FAILURES, Client
from fourtuple.load.stress.dumper import Dumper
from fourtuple.load.stress.run import Role, Run, started
from load.processes import all_end, descendants
from load.stress.failing import Ready, lost, refused

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("netns")]

BUSY = Role("dumper", partial(Dumper, 0))
DONE = Role("done", Ready)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes import what the tests can."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture(autouse=True)
def none_left() -> None:
    """No test leaves a process or finds one."""
    assert descendants(os.getpid()) == set()


def kill_first(run: Run) -> None:
    """Kill the oldest process of the run."""
    os.kill(min(descendants(os.getpid())), signal.SIGKILL)


def test_it_ends_in_time_and_leaves_nothing() -> None:
    with started([[BUSY], [BUSY]]) as run:
        members = descendants(os.getpid())
        assert len(members) == 2
        # Ctrl-C on the terminal is for this process alone.
        assert not {os.getpgid(pid) for pid in members} & {os.getpgid(0)}
        next(age for age in run.watch(60) if all(row[DumperCell.DUMPS] for row in run.rows("dumper")))
        ages = list(run.watch(0))
        ending = run.stop()
        assert descendants(os.getpid()) == set()
    assert ages == []
    assert ending.complaints == ()
    assert ending.wall_clock > 0
    assert ending.user + ending.system > 0
    assert ending.max_rss > 1000
    assert run.stop() is ending


def test_an_instance_ends_when_a_worker_is_done_and_the_run_with_the_last() -> None:
    with started([[DONE, BUSY], [DONE, BUSY]]) as run:
        for _ in run.watch(60):
            pass
        assert all(instance.wall_clock is not None for instance in run.instances)
    assert run.stop().complaints == ()


def test_a_process_that_is_killed_is_named_and_takes_its_instance_with_it() -> None:
    with started([[BUSY, BUSY], [BUSY]]) as run:
        ages = run.watch(60)
        next(ages)
        kill_first(run)
        next(age for age in ages if run.instances[0].wall_clock is not None)
        assert run.instances[1].wall_clock is None
        assert len(descendants(os.getpid())) == 3
    (complaint,) = run.stop().complaints
    assert complaint.startswith("the dumper of instance 0 was killed by SIGKILL after ")


def test_a_process_that_was_killed_unnoticed_is_named_at_the_end() -> None:
    with started([[BUSY]]) as run:
        pids = descendants(os.getpid())
        kill_first(run)
        assert all_end(pids)
        (complaint,) = run.stop().complaints
    assert "was killed by SIGKILL" in complaint


def test_what_processes_used_before_the_start_is_left_out() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with started([[DONE]]) as run:
        ending = run.stop()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert 0 <= ending.user + ending.system < whole


def test_a_process_that_was_stopped_is_ended_all_the_same() -> None:
    with started([[BUSY]]) as run:
        (pid,) = descendants(os.getpid())
        os.kill(pid, signal.SIGSTOP)
        for _ in run.watch(0.01):
            pass
        assert run.stop().complaints == ()


def test_a_client_tries_again_where_an_error_may_pass() -> None:
    # Of a network for documentation (RFC 5737), to which there is no route here.
    address = packed(socket.AF_INET, ("203.0.113.9", 9))
    with started([[Role("client", partial(Client, address, 8))]]) as run:
        (cells,) = run.rows("client")
        next(age for age in run.watch(60) if failures([cells], FAILURES).get("connect", {}).get("ENETUNREACH", 0) > 1)
    assert cells[ClientCell.ROUNDS] == 0


def test_what_keeps_a_worker_from_its_start_is_raised() -> None:
    with pytest.raises(PermissionError, match="no such luck"), started([[BUSY, Role("refused", refused)]]):
        pass


def test_a_process_that_is_lost_before_the_start_is_named() -> None:
    with pytest.raises(ChildProcessError, match="the lost of instance 1"), started([[BUSY], [Role("lost", lost)]]):
        pass


def test_a_process_lost_between_ready_and_start_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    start = under_test.Member.start

    def kill_and_start(member: under_test.Member) -> None:
        member.kill()
        member.await_end()
        start(member)

    monkeypatch.setattr(under_test.Member, "start", kill_and_start)
    with started([[BUSY]]) as run:
        for _ in run.watch(60):
            pass
    assert "SIGKILL" in run.stop().complaints[0]


def test_an_interrupt_leaves_nothing() -> None:
    def interrupted() -> None:
        with started([[BUSY]]) as run:
            next(run.watch(60))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert descendants(os.getpid()) == set()


STARTER = """
import sys
from functools import partial
from fourtuple.load.stress.cells import ClientCell, DumperCell, failures
from fourtuple.load.stress.client import FAILURES, Client
from fourtuple.load.stress.dumper import Dumper
from fourtuple.load.stress.run import Role, started

with started([[Role("dumper", partial(Dumper, 0))] * 2]) as run:
    print("started", flush=True)
    sys.stdin.read()
"""


def test_processes_end_with_their_parent_however_it_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        members = descendants(starter.pid)
        assert len(members) == 2
        starter.kill()
        assert all_end(members)
