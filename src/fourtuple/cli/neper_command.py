"""What the commands tcp_crr, tcp_rr and tcp_stream share: a run of a program, as neper's command line has it."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import click

from fourtuple.bench.machine import this_machine
from fourtuple.cli.entry import INTERRUPTED, leave
from fourtuple.cli.neper_console import NeperConsole
from fourtuple.cli.neper_flags import completed, parameters
from fourtuple.linux import sysctl
from fourtuple.linux.limits import allowed_cpus
from fourtuple.load.neper.checks import check
from fourtuple.load.neper.client import run_client
from fourtuple.load.neper.control_client import Interrupted
from fourtuple.load.neper.document import document
from fourtuple.load.neper.files import check_writable
from fourtuple.load.neper.options import Tcp
from fourtuple.load.neper.outcome import Outcome
from fourtuple.load.neper.program import Program
from fourtuple.load.neper.report import cpus, opening
from fourtuple.load.neper.server import run_server
from fourtuple.load.neper.stopping import Bell

_TOO_FEW_SAMPLES: Final = 255
_STANDARD_OUTPUT: Final = "-"


def command(program: type[Program[Any]], help: str) -> click.Command:
    """The command of a program. ``help`` is its description."""

    def callback(**values: Any) -> None:
        options = program.options_type(**values)
        try:
            check(options, somaxconn=int(sysctl.read("net.core.somaxconn")))
            settled = program(options)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
        click.get_current_context().exit(_run(settled))

    return click.Command(
        program.name,
        params=parameters(program.options_type),
        callback=callback,
        help=help,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "token_normalize_func": completed(program.options_type),
        },
    )


def _run(program: Program[Tcp]) -> int:
    # The exit status.
    options = program.options
    json_alone = options.json == _STANDARD_OUTPUT
    if not json_alone:
        check_writable("--json", options.json)
    console = NeperConsole(_discard if json_alone else click.echo, program.things)
    console.lines(opening(program))
    if options.dry_run:
        return 0
    if options.pin_cpu:
        console.lines(cpus(allowed_cpus()))
    if options.suicide_length:
        _end_after(options.suicide_length)
    with ExitStack() as stack:
        if options.logtostderr:
            stack.enter_context(_logged())
        outcome = _attended(program, console, stack.enter_context(closing(Bell())))
    if options.json:
        _write_json(program, outcome)
    return _status(program, outcome, console)


def _attended(program: Program[Tcp], console: NeperConsole, bell: Bell) -> Outcome:
    run = run_client if program.options.client else run_server
    try:
        with _stopped_by_signals(bell):
            return run(program, console, bell)
    except Interrupted:
        if bell.signal == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise


@contextmanager
def _logged() -> Generator[None, None, None]:
    # --logtostderr.
    logger = logging.getLogger("fourtuple.load.neper")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname).1s %(asctime)s %(name)s: %(message)s"))
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def _stopped_by_signals(bell: Bell) -> Generator[None, None, None]:
    # A signal asks for the end of the run, which then prints as ever; a second one of the same kind ends the process.
    # As an exception an interrupt could come up where a sample is half taken.
    previous: dict[int, Any] = {}

    def tell(signum: int, frame: object) -> None:
        signal.signal(signum, previous[signum])
        bell.tell(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        handler = signal.getsignal(signum)
        # Any other handler is the wish of who started this program.
        if handler in (leave, signal.SIG_DFL):
            previous[signum] = signal.signal(signum, tell)
    try:
        yield
    finally:
        for signum, handler in previous.items():
            signal.signal(signum, handler)


def _end_after(seconds: int) -> None:
    # --suicide-length: whatever state the run is in.
    def end() -> None:
        os.write(1, b"timeout handler\n")
        os._exit(_TOO_FEW_SAMPLES)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _write_json(program: Program[Tcp], outcome: Outcome) -> None:
    machine = {**asdict(this_machine()), "fourtuple": version("fourtuple")}
    text = json.dumps(document(program, outcome, machine), indent=2) + "\n"
    file = program.options.json
    if file == _STANDARD_OUTPUT:
        click.echo(text, nl=False)
    else:
        Path(file).write_text(text, encoding="utf-8")


def _status(program: Program[Tcp], outcome: Outcome, console: NeperConsole) -> int:
    if outcome.signal is not None:
        return INTERRUPTED if outcome.signal == signal.SIGINT else 0
    if outcome.trouble:
        return 1
    if program.reports and not outcome.measured:
        samples = outcome.figures.trend.samples
        console.notice(
            f"{samples} samples, and a throughput takes 2: nothing was counted, or nothing after the warm-up"
        )
        return _TOO_FEW_SAMPLES
    return 0


def _discard(text: str) -> None:
    # The results are in the JSON object.
    pass
