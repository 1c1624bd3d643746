"""neper's flags as options of a click command."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import click

from fourtuple.load.neper.kinds import SWITCH, Kind
from fourtuple.load.neper.options import NEPER_VERSION, NamedFlag, Tcp, flags


class _Value(click.ParamType[Any]):
    def __init__(self, kind: Kind[Any]) -> None:
        self.name = kind.metavar
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # A default is a value already.
        if not isinstance(value, str) or value == "":
            return value
        try:
            return self._kind.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parameters(options: type[Tcp]) -> list[click.Parameter]:
    """An option for each flag of the table, and --version; --help is click's own."""
    found: list[click.Parameter] = [_option(flag) for flag in flags(options)]
    found.append(
        click.Option(
            ["-v", "--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_tell_version,
            help="Print the version and end.",
        )
    )
    return found


def completed(options: type[Tcp]) -> Callable[[str], str]:
    """A function that makes a whole name of the beginning of a long flag's, if there is but one such flag."""
    names = [flag.spelling.removeprefix("--") for flag in flags(options)] + ["help", "version"]

    def complete(token: str) -> str:
        matches = [name for name in names if name.startswith(token)]
        # One character is a letter of its own.
        return matches[0] if len(matches) == 1 and len(token) > 1 and token not in names else token

    return complete


def _option(named: NamedFlag) -> click.Option:
    name, default, flag = named
    declarations = [name, *([f"-{flag.letter}"] if flag.letter else []), named.spelling]
    if flag.kind is SWITCH:
        return click.Option(declarations, is_flag=True, default=default, help=_help(named))
    optional: dict[str, Any] = {} if flag.bare is None else {"is_flag": False, "flag_value": flag.bare}
    return click.Option(
        declarations,
        type=_Value(flag.kind),
        metavar=flag.kind.metavar,
        default=default,
        help=_help(named),
        **optional,
    )


def _help(named: NamedFlag) -> str:
    text = named.flag.help[0].upper() + named.flag.help[1:]
    default = named.flag.kind.show(named.default)
    shown = f"  [default: {default}]" if default and named.flag.kind is not SWITCH else ""
    return f"{text}.{shown}"


def _tell_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        click.echo(f"fourtuple {version('fourtuple')}, after neper {NEPER_VERSION}")
        ctx.exit()
