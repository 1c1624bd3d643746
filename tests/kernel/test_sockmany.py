"""``fourtuple sockmany`` as a user meets it, in small."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fourtuple.load.stress.metrics import UNITS
from kernel.commands import FOURTUPLE, STRESSING, half_way
from load.processes import all_end, descendants
from support.needs import program, requires

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("netns")]


def sockmany(*arguments: str, limit: str = "-n 1000", exit_code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command with a limit of open files."""
    result = subprocess.run(
        ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *FOURTUPLE, "sockmany", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert result.returncode == exit_code, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result


def document(*arguments: str, limit: str = "-n 1000", exit_code: int = 0) -> dict[str, Any]:
    return json.loads(sockmany("--json", *arguments, limit=limit, exit_code=exit_code).stdout)


def test_it_stops_after_so_many_operations_of_all_instances() -> None:
    found = document("--sockmany", "3", "--sockmany-ops", "100")
    assert found["instances"] == 3
    assert found["metrics"]["bogo-ops"] == 102
    # When the server is done a client may still wait for its last data, or in the listener's queue.
    assert 99 <= found["connections"] <= 102
    assert 34 <= found["most_held"] <= 35
    assert found["failures"] == {}
    assert found["complaints"] == []
    assert found["metrics"].keys() == found["units"].keys()


def test_a_round_ends_at_the_limit_of_open_files_and_the_next_begins() -> None:
    found = document("--sockmany-ops", "500", limit="-n 64")
    assert 40 < found["most_held"] < 64
    assert found["rounds"] == 500 // found["most_held"]
    assert found["failures"] == {"socket": {"EMFILE": found["rounds"]}}


def test_a_low_soft_limit_is_raised() -> None:
    assert document("--sockmany-ops", "200", limit="-S -n 64")["most_held"] > 64


def test_too_low_a_limit_is_an_error_in_one_line() -> None:
    result = sockmany("-t", "5", limit="-n 12", exit_code=1)
    assert result.stderr.count("\n") == 1
    assert "limit of 12 open files" in result.stderr
    assert "ulimit -n" in result.stderr


@pytest.mark.port_range(20000, 20009)
@pytest.mark.parametrize("ports", ["kernel", "fourtuple"])
def test_a_round_ends_when_no_port_is_left(ports: str) -> None:
    found = document("--sockmany-ops", "100", "--ports", ports)
    assert found["most_held"] == 10
    assert found["failures"].keys() == {"connect"}
    assert found["failures"]["connect"].keys() == {"EADDRNOTAVAIL"}
    assert found["ports"]["chosen_by"] == ports


@pytest.mark.port_range(20000, 20000)
@pytest.mark.parametrize("ports", ["kernel", "fourtuple"])
def test_with_all_ports_in_use_it_ends_in_time_and_says_so(ports: str) -> None:
    with socket.create_server(("127.0.0.1", 9000)) as listener, socket.socket() as other:
        other.bind(("127.0.0.1", 20000))
        other.connect(listener.getsockname())
        result = sockmany("-t", "1", "--json", "--ports", ports, exit_code=1)
    assert result.stderr == "Error: no connection was made; the results say what failed and how often\n"
    found = json.loads(result.stdout)
    assert found["connections"] == found["metrics"]["bogo-ops"] == 0
    assert found["failures"]["connect"]["EADDRNOTAVAIL"] > 0


@pytest.mark.port_range(20000, 20009)
def test_ports_of_others_are_counted_where_fourtuple_chooses() -> None:
    with ExitStack() as stack:
        for port in (20002, 20003, 20007):
            stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
        found = document("--sockmany-ops", "50", "--ports", "fourtuple")
    assert found["most_held"] == 7
    assert found["ports"]["refused"] >= 3


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 7001)):
        result = sockmany("--sockmany", "3", "--sockmany-port", "7000", exit_code=1)
    assert result.stderr.count("\n") == 1
    assert "port 7001 of 127.0.0.1 is in use" in result.stderr
    assert result.stdout == ""


def test_an_interface_is_found_by_its_name() -> None:
    assert document("--sockmany-if", "lo", "--sockmany-ops", "10")["metrics"]["bogo-ops"] == 10


def test_the_terminal_gets_a_table_and_what_stress_ng_leaves_unsaid() -> None:
    lines = sockmany("--sockmany-ops", "200", "--ports", "fourtuple", limit="-n 64").stdout.splitlines()
    text = "\n".join(lines)
    assert max(map(len, lines)) <= 80
    assert re.search(r"^ ?sockmany +200 ", text, re.MULTILINE)
    assert re.search(r"^connections +\d+, at most \d\d held at once", text, re.MULTILINE)
    assert re.search(r"^socket failed +EMFILE \d *$", text, re.MULTILINE)
    assert re.search(r"^ports +0 left to the kernel, \d+ refused by it *$", text, re.MULTILINE)


@pytest.mark.unprivileged
def test_an_ordinary_user_gets_the_same(tmp_path: Path) -> None:
    found = document("--sockmany-ops", "100", "--ports", "fourtuple", "--yaml", str(tmp_path / "it.yaml"))
    assert found["metrics"]["bogo-ops"] == 100
    assert "bogo-ops: 100\n" in (tmp_path / "it.yaml").read_text()


def member(starter: int, row: int) -> int:
    """The process that has that row of the board."""
    for pid in descendants(starter):
        if Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[-2] == str(row).encode():
            return pid
    raise AssertionError(f"no process has row {row}")


@pytest.mark.parametrize(("row", "name"), [(0, "server"), (1, "client")])
def test_a_process_killed_mid_run_is_named_and_the_figures_are_kept(row: int, name: str) -> None:
    with half_way(STRESSING, "sockmany", "--json") as (process, _):
        started = descendants(process.pid)
        assert len(started) == 2
        os.kill(member(process.pid, row), signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert all_end(started)
    found = json.loads(output)
    assert found["connections"] > 0
    (complaint,) = found["complaints"]
    assert complaint.startswith(f"the {name} of instance 0 was killed by SIGKILL after ")


def test_interrupted_it_prints_what_it_has_and_leaves_no_process(tmp_path: Path) -> None:
    with half_way(STRESSING, "sockmany", "--json", "--yaml", str(tmp_path / "it.yaml")) as (process, rest_of_screen):
        started = descendants(process.pid)
        # As a terminal does: to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        screen = rest_of_screen()
    assert process.returncode == 130
    assert "Interrupted." in screen
    assert "Error" not in screen
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    found = json.loads(output)
    assert found["connections"] > 0
    assert f"bogo-ops: {found['metrics']['bogo-ops']}\n" in (tmp_path / "it.yaml").read_text()


def test_killed_it_leaves_no_process() -> None:
    with half_way(STRESSING, "sockmany") as (process, _):
        started = descendants(process.pid)
        process.kill()
    assert all_end(started)


def metric_names(file: Path) -> list[str]:
    """The names of the metrics in a YAML file."""
    _, _, listed = file.read_text().partition("metrics:\n")
    return re.findall(r"^ +(?:- )?([\w-]+):", listed, re.MULTILINE)


@pytest.mark.programs
@requires(program("stress-ng"))
@pytest.mark.parametrize("stressor", ["sockmany", "sockdiag"])
def test_stress_ng_writes_the_same_metrics(stressor: str, tmp_path: Path) -> None:
    programs: Sequence[tuple[str, list[str]]] = [
        ("theirs", ["stress-ng", "--oom-avoid"]),
        ("ours", [*FOURTUPLE, stressor]),
    ]
    with socket.socket(socket.AF_UNIX):
        for name, command in programs:
            flags = [f"--{stressor}", "2", f"--{stressor}-ops", "20", "-t", "5", "--metrics", "--yaml"]
            subprocess.run(
                [*command, *flags, str(tmp_path / name)], check=True, capture_output=True, cwd=tmp_path, timeout=60
            )
    assert metric_names(tmp_path / "ours") == metric_names(tmp_path / "theirs") == list(UNITS)


def test_the_command_is_listed() -> None:
    listed = subprocess.run([*FOURTUPLE, "--help"], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^ +sockmany ", listed, re.MULTILINE)
