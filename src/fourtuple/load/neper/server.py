"""A run's server side: listeners, clients that come and go, and the last line."""

from __future__ import annotations

import os
from contextlib import ExitStack
from contextlib import closing as closing_it
from dataclasses import replace

from fourtuple.linux.limits import raise_file_limit

from .control_server import ControlServer
from .measuring import Console, measured
from .options import Tcp
from .outcome import Outcome
from .overflows import ListenDrops, listen_drops
from .program import Program
from .report import closing, results
from .sockets import addresses, control_listener, data_listeners, try_options
from .stopping import Bell
from .wire import Kind, Message


def run_server(program: Program[Tcp], console: Console, bell: Bell) -> Outcome:
    """Listen, wait for as many clients as are wanted, measure, print.

    Raises RunFailed, or another OSError, for what prevents the start, such as ports in use.
    """
    options = program.options
    family, address = addresses(options.host, options.control_port, ipv4=options.ipv4, ipv6=options.ipv6, passive=True)[
        0
    ]
    socket_options = program.server_options()
    try_options(family, socket_options)
    before = listen_drops()
    raise_file_limit()
    program.check_files()
    with ExitStack() as stack:
        # Connections may take all descriptors; what is read and written at the end needs this one.
        spare = stack.enter_context(open(os.devnull, encoding="ascii"))
        # Data ports first: a client that finds the control port open finds these open too.
        listeners = data_listeners(
            family,
            address,
            range(options.port, options.port + options.num_ports),
            options.num_threads,
            socket_options,
            options.listen_backlog,
        )
        for listener in [listener for thread in listeners for listener in thread]:
            stack.callback(listener.close)
        listener = control_listener(family, address, backlog=options.listen_backlog, freebind=options.freebind)
        plan = program.plan
        ack = Message(
            Kind.ACK,
            options.magic,
            threads=options.num_threads,
            flows=options.num_flows,
            test_length=plan.seconds or -plan.things,
        )
        control = stack.enter_context(
            closing_it(ControlServer(listener, program.secret, ack, clients=options.num_clients, report=console.notice))
        )
        workers = [program.server([listener.fileno() for listener in thread]) for thread in listeners]
        measurement = stack.enter_context(measured(program, workers, control, console, bell, seconds=0))
        spare.close()
        rate = program.control_rate(measurement.figures)
        drops = listen_drops().since(before)
        outcome = measurement.outcome(
            local_rate=rate,
            trouble="",
            signal=bell.signal,
            invalid_secrets=control.invalid_secrets,
            drops=drops,
        )
        console.lines(results(program, outcome))
        _warn(drops, options.listen_backlog, console)
        control.say_bye(rate)
        outcome = replace(outcome, remote_rate=control.remote_rate)
        console.lines(closing(program, outcome))
        return outcome


def _warn(drops: ListenDrops, backlog: int, console: Console) -> None:
    if drops.overflows:
        console.notice(
            f"listeners here were full {drops.overflows} times, which delays clients by a second or more: raise "
            f"--listen-backlog, {backlog} now, and net.core.somaxconn with it"
        )
