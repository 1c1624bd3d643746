"""``fourtuple``: finds a command, runs it, and turns its errors into one line and an exit status.

0 success, 1 an error that fourtuple names, 2 wrong usage, 130 interrupted. `fourtuple.cli.entry` comes before it.
"""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Final, NamedTuple, cast

import click

from fourtuple.cli.entry import INTERRUPTED, NOTICE
from fourtuple.errors import FourtupleError


class _Command(NamedTuple):
    target: str
    summary: str


_COMMANDS: Final[Mapping[str, _Command]] = {
    "demo": _Command(
        "fourtuple.cli.demo:demo",
        "Show what connect() costs as ports run out, with and without fourtuple.",
    ),
    "doctor": _Command(
        "fourtuple.cli.doctor:doctor",
        "Tell what this machine has, what is missing, and what each lack costs.",
    ),
    "model": _Command(
        "fourtuple.cli.model:model",
        "Tell what the kernel's search for a port does, version by version.",
    ),
    "sockdiag": _Command(
        "fourtuple.cli.sockdiag:sockdiag",
        "Dump the AF_UNIX sockets over sock_diag, as stress-ng's stressor does.",
    ),
    "sockmany": _Command(
        "fourtuple.cli.sockmany:sockmany",
        "Open connections to one server until none is left, as stress-ng's stressor does.",
    ),
    "tcp_crr": _Command(
        "fourtuple.cli.tcp_crr:tcp_crr",
        "Connect, request, response: a connection for each transaction, on neper's wire.",
    ),
    "tcp_rr": _Command(
        "fourtuple.cli.tcp_rr:tcp_rr",
        "Request, response on connections that stay, on neper's wire.",
    ),
    "tcp_stream": _Command(
        "fourtuple.cli.tcp_stream:tcp_stream",
        "Send as much as the flows take, on neper's wire.",
    ),
}


# A command's module is imported when the command is used, so that --help and completion stay quick.
class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = _COMMANDS.get(cmd_name)
        if command is None:
            return None
        module, _, name = command.target.partition(":")
        return cast(click.Command, getattr(import_module(module), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, _COMMANDS[name].summary) for name in sorted(_COMMANDS)])

    def invoke(self, ctx: click.Context) -> object:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A terminal that has no sign for a microsecond gets a question mark, not an error at the end.
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except FourtupleError as error:
            text = error.strerror if isinstance(error, OSError) else None
            raise click.ClickException(text or str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:
                # The reader has seen enough; click ends quietly.
                raise
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo(NOTICE, err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


@click.group(cls=_LazyGroup)
@click.version_option(package_name="fourtuple")
def main() -> None:
    """connect() under pressure: fix it, see it, measure it, explain it."""
