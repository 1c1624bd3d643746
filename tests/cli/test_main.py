"""Finding commands, and turning errors into one line and an exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

from fourtuple.cli.main import main
from fourtuple.errors import FourtupleError, NoSuchLocalAddress


def run_doctor_raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> tuple[int, str]:
    """Run the command `doctor` with a body that raises."""

    def fail() -> None:
        raise error

    module = ModuleType("doctor")
    module.__dict__["doctor"] = click.Command("doctor", callback=fail)
    monkeypatch.setitem(sys.modules, "fourtuple.cli.doctor", module)
    result = CliRunner().invoke(main, ["doctor"])
    return result.exit_code, result.stderr


def test_help_lists_commands_without_importing_them() -> None:
    script = (
        "import sys; from fourtuple.cli.main import main\n"
        "try: main(['--help'])\n"
        "finally: print([name for name in sys.modules if name in "
        "('rich', 'fourtuple.cli.doctor', 'fourtuple.cli.demo')])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "doctor" in result.stdout
    assert "demo" in result.stdout
    assert result.stdout.endswith("[]\n")


@pytest.mark.parametrize("name", main.list_commands(click.Context(main)))
def test_every_command_can_be_imported(name: str) -> None:
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert f" {name} " in result.output


def test_the_version_is_the_distributions() -> None:
    assert version("fourtuple") in CliRunner().invoke(main, ["--version"]).output


def test_an_unknown_command_is_wrong_usage() -> None:
    result = CliRunner().invoke(main, ["doktor"])
    assert result.exit_code == 2
    assert "doktor" in result.stderr


def test_an_error_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = run_doctor_raising(monkeypatch, FourtupleError("no luck; try again"))
    assert (status, text) == (1, "Error: no luck; try again\n")


def test_an_error_of_the_kernel_shows_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    status, text = run_doctor_raising(monkeypatch, NoSuchLocalAddress("192.0.2.9", "127.0.0.1:80"))
    assert status == 1
    assert text.startswith("Error: no interface of this machine has the source address 192.0.2.9")
    assert text.count("\n") == 1


def test_an_interrupt_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_doctor_raising(monkeypatch, KeyboardInterrupt()) == (130, "Interrupted.\n")


def test_a_terminal_without_the_signs_gets_question_marks() -> None:
    code = (
        "import click, fourtuple.cli.doctor as module; from fourtuple.cli.main import main;"
        "module.doctor = click.command()(lambda: print('5 \\u00b5s'));"
        "main(['doctor'])"
    )
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True, timeout=60)
    assert done.stdout == b"5 ?s\n"
