"""A run's client side, from the control connection to the last line."""

from __future__ import annotations

import contextlib
import errno
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fourtuple.linux.limits import file_limit, raise_file_limit

from .control_client import ControlClient, dial
from .errors import ControlBroken, RunFailed, files_exhausted
from .failures import told
from .measuring import Console, Measurement, measured
from .options import Tcp
from .outcome import Outcome
from .program import Program, Worker
from .report import closing, results
from .shares import client_shares, fixed_ports
from .sockets import addresses, freebind_option, try_options
from .wire import Kind, Message

if TYPE_CHECKING:
    from fourtuple.linux.addresses import SockAddr

    from .program import ClientShare
    from .stopping import Bell

_SPARE_FILES = 16  # descriptors beside those of flows and loops


def run_client(program: Program[Tcp], console: Console, bell: Bell) -> Outcome:
    """Find the server, measure, print. What goes wrong after the start is in the outcome.

    Raises RunFailed, or another OSError, for what prevents the start.
    """
    options = program.options
    provide_files(options.num_flows, options.num_threads)
    program.check_files()
    hosts = {host: addresses(host, 0, ipv4=options.ipv4, ipv6=options.ipv6) for host in options.local_hosts}
    sock, family, address = dial(
        addresses(options.host, options.control_port, ipv4=options.ipv4, ipv6=options.ipv6),
        f"{options.host or 'this machine'}, port {options.control_port}",
        [freebind_option()] if options.freebind else [],
        [pair for host in options.local_hosts[:1] for pair in hosts[host]],
        bell,
    )
    with contextlib.closing(ControlClient(sock, options.magic, bell)) as control:
        try_options(family, program.client_options())
        sources = [_of_family(host, found, family) for host, found in hosts.items()]
        if options.source_port != -1:
            sources = fixed_ports(family, options.source_port, options.num_flows)
        shares = client_shares(program, family, address, sources)
        control.start(_hello(program))
        _wait(options.wait_start, control, bell)
        workers = [_worker(program, share) for share in shares]
        seconds = program.plan.seconds
        with measured(program, workers, control, console, bell, seconds=seconds) as measurement:
            return _finish(program, control, console, bell, measurement)


def provide_files(flows: int, threads: int) -> None:
    """Raise the limit of open files if need be and possible. Raises FilesExhausted that says what to do."""
    needed = flows + threads + _SPARE_FILES
    now, hard = file_limit()
    if needed > hard:
        raise files_exhausted(needed, flows, hard)
    if needed > now:
        raise_file_limit()


def _of_family(host: str, found: list[tuple[int, SockAddr]], family: int) -> SockAddr:
    for its_family, address in found:
        if its_family == family:
            return address
    raise RunFailed(
        errno.EADDRNOTAVAIL,
        f"--local-hosts: {host} has no address of the server's family; use -4 or -6, or addresses of that family",
    )


def _hello(program: Program[Tcp]) -> Message:
    options, plan = program.options, program.plan
    return Message(
        Kind.HELLO,
        options.magic,
        program.secret,
        threads=options.num_threads,
        flows=options.num_flows,
        test_length=plan.seconds or -plan.things,
        max_pacing_rate=options.max_pacing_rate,
    )


def _wait(seconds: float, control: ControlClient, bell: Bell) -> None:
    # --wait-start. A signal, or the server's end, is seen to when the run starts.
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and bell.signal is None and not control.over:
        if bell.wait((control,), deadline - time.monotonic()):
            control.look()


def _worker(program: Program[Tcp], share: ClientShare) -> Worker:
    worker = program.client(share)
    if program.plan.things and not share.limit:
        # Fewer transactions than threads, and a limit of 0 would be none.
        worker.loop.stop()
    return worker


def _finish(
    program: Program[Tcp],
    control: ControlClient,
    console: Console,
    bell: Bell,
    measurement: Measurement,
) -> Outcome:
    flows = program.options.num_flows
    rate = program.control_rate(measurement.figures)
    trouble = _trouble(program.plan.things, flows, control, measurement)
    outcome = measurement.outcome(local_rate=rate, trouble=trouble, signal=bell.signal)
    signals = bell.signals
    console.lines(results(program, outcome))
    if trouble:
        console.notice(trouble)
    elif outcome.levels["dead_flows"]:
        dead, failures = outcome.levels["dead_flows"], told(measurement.figures.counters.failures)
        console.notice(f"{dead} of {flows} flows died ({failures})")
    waiting = outcome.levels["unconnected_flows"]
    if waiting:
        console.notice(
            f"{waiting} of {flows} flows had no connection in the whole run: if the server's listen_overflows rose, "
            f"raise its --listen-backlog, else look at the path to it"
        )
    if control.rate is not None:
        outcome = replace(outcome, remote_rate=control.rate)
    if not control.over:
        try:
            outcome = replace(outcome, remote_rate=control.finish(rate, signals=signals).rate)
        except ControlBroken as error:
            text = error.strerror or str(error)
            outcome = replace(outcome, trouble=trouble or text, signal=bell.signal)
            console.notice(text)
    console.lines(closing(program, outcome))
    return outcome


def _trouble(things: int, flows: int, control: ControlClient, measurement: Measurement) -> str:
    # What ended the run before its time, ``things`` being how many were to be done, "" if nothing did.
    if control.trouble:
        return f"the run ended after {measurement.seconds:.1f} s: {control.trouble}"
    if measurement.done and not 0 < things <= measurement.recorder.total:
        failures = told(measurement.figures.counters.failures)
        return f"the run ended after {measurement.seconds:.1f} s: all {flows} flows are dead ({failures})"
    return ""
