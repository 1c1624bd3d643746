"""The flags of sockmany and sockdiag: stress-ng's spellings, and errors that name what is wrong."""

from __future__ import annotations

import math
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fourtuple.cli.main import main
from fourtuple.cli.sockdiag import sockdiag
from fourtuple.cli.sockmany import sockmany
from fourtuple.linux.limits import allowed_cpus


def parsed(command: click.Command, *arguments: str) -> dict[str, object]:
    """The parameters that a command gets."""
    return command.make_context("it", list(arguments)).params


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10", 10),
        ("10s", 10),
        ("0.5", 0.5),
        ("1m", 60),
        ("2H", 7200),
        ("1d", 86400),
        ("1y", 31536000),
        ("0", math.inf),
        ("0s", math.inf),
    ],
)
def test_times_are_stress_ngs(text: str, seconds: float) -> None:
    assert parsed(sockdiag, "-t", text)["timeout"] == seconds
    assert parsed(sockmany, "--timeout", text)["timeout"] == seconds


def test_stress_ngs_command_line_is_understood() -> None:
    command = (
        "--sockmany 4 -t 10 --metrics-brief --sockmany-ops 9 --sockmany-port 7000 --sockmany-max-size 100 --yaml x"
    )
    assert parsed(sockmany, *command.split()) == {
        "instances": 4,
        "timeout": 10,
        "operations": 9,
        "port": 7000,
        "host": None,
        "size": 100,
        "ports": "kernel",
        "yaml": Path("x"),
        "as_json": False,
    }
    assert parsed(sockdiag, "--sockdiag", "2", "-M", "--sockdiag-ops", "5", "-Y", "x")["operations"] == 5


def test_without_flags_it_is_one_instance_for_a_day() -> None:
    found = parsed(sockmany)
    assert (found["instances"], found["timeout"], found["operations"], found["port"]) == (1, 86400, 0, 51712)


@pytest.mark.parametrize(
    ("command", "flag", "value"),
    [
        *[
            (command, flag, value)
            for command in ("sockmany", "sockdiag")
            for flag, value in (
                ("--instances", "-1"),
                ("--instances", "x"),
                (f"--{command}", "4097"),
                (f"--{command}-ops", "-1"),
                ("--timeout", "10x"),
                ("--timeout", "-1"),
                ("--timeout", ""),
                ("--yaml", "/"),
            )
        ],
        ("sockmany", "--sockmany-port", "1023"),
        ("sockmany", "--sockmany-port", "65536"),
        ("sockmany", "--sockmany-max-size", "0"),
        ("sockmany", "--sockmany-max-size", "32769"),
        ("sockmany", "--sockmany-if", "nosuch0"),
        ("sockmany", "--ports", "mine"),
    ],
)
def test_a_wrong_flag_is_named(command: str, flag: str, value: str) -> None:
    result = CliRunner().invoke(main, [command, flag, value])
    assert result.exit_code == 2
    assert flag in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_cannot_be_written_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["sockdiag", "--yaml", str(tmp_path / "nowhere" / "it.yaml")])
    assert result.exit_code == 1
    assert "it.yaml" in result.stderr


def test_0_instances_are_one_for_each_cpu(netns: object) -> None:
    result = CliRunner().invoke(main, ["sockdiag", "--sockdiag", "0", "-t", "0.01", "--json"])
    assert f'"instances": {len(allowed_cpus())},' in result.stdout
