"""``fourtuple demo`` as a user meets it, in small."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fourtuple.bench.demo.levels import held_at
from fourtuple.cli.main import main
from kernel.commands import FOURTUPLE, half_way
from load.processes import all_end, descendants

SMALL = ["demo", "--ports", "400", "--levels", "5,50,99", "--operations", "20"]


def demo(*arguments: str, command: Sequence[str] = FOURTUPLE, exit_code: int = 0) -> subprocess.CompletedProcess[str]:
    result = subprocess.run(
        [*command, *SMALL, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert result.returncode == exit_code, result.stdout + result.stderr
    return result


def assert_whole(document: dict[str, Any]) -> None:
    assert [run["family"] for run in document["runs"]] == ["IPv6", "IPv4"]
    for run in document["runs"]:
        assert run["complete"]
        assert run["private_namespace"]
        assert run["port_range"] == [10000, 10399]
        assert run["not_measured"] == []
        levels = [(level["percent"], level["held"], level["free"]) for level in run["levels"]]
        assert levels == [(5, 20, 380), (50, 200, 200), (99, 396, 4)]
        first = run["levels"][0]["fourtuple"]["mean_us"]
        for level in run["levels"]:
            kernel, fourtuple = level["kernel"], level["fourtuple"]
            for way in (kernel, fourtuple):
                assert 0 < way["p50_us"] <= way["p99_us"]
            assert level["kernel_to_fourtuple"] == kernel["mean_us"] / fourtuple["mean_us"]
            assert level["fourtuple_to_its_first"] == fourtuple["mean_us"] / first


def test_json_is_one_whole_document() -> None:
    result = demo("--json")
    document = json.loads(result.stdout)
    assert_whole(document)
    assert document["machine"]["kernel"] == os.uname().release
    assert document["settings"]["operations"] == 20
    assert result.stderr == ""


@pytest.mark.unprivileged
def test_an_ordinary_user_gets_the_same() -> None:
    assert_whole(json.loads(demo("--json").stdout))


def test_the_terminal_gets_tables_charts_and_a_sentence() -> None:
    lines = demo("--ipv4").stdout.splitlines()
    text = "\n".join(lines)
    assert text.count("IPv4: connect() in µs") == 1
    assert sum("●" in line and "○" in line and "%" in line for line in lines) == 3
    assert "IPv4, 99 % of the ports in use: connect() takes" in text
    assert "address, socket() and connect(), not of close()" in text
    assert "IPv6" not in text
    assert "\x1b" not in text


def test_a_family_can_be_had_alone() -> None:
    (run,) = json.loads(demo("-6", "--json").stdout)["runs"]
    assert run["family"] == "IPv6"


def test_the_picture_goes_to_the_file(tmp_path: Path) -> None:
    demo("-4", "--svg", str(tmp_path / "it.svg"))
    assert (tmp_path / "it.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    "arguments",
    [["--levels", "5,x"], ["--levels", "0"], ["--levels", "100"], ["--ports", "99"]],
)
def test_wrong_arguments_are_refused_before_anything_starts(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, ["demo", *arguments])
    assert result.exit_code == 2
    assert arguments[0] in result.output


def test_a_picture_without_the_extra_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.delitem(sys.modules, "fourtuple.bench.demo.picture", raising=False)
    result = CliRunner().invoke(main, ["demo", "--svg", "it.svg"])
    assert result.exit_code == 1
    assert "pip install 'fourtuple[plots]'" in result.output


def with_file_limit(soft: int, hard: int) -> list[str]:
    return [
        "sh",
        "-c",
        f'ulimit -S -n {soft} && ulimit -H -n {hard} && exec "$@"',
        "sh",
        *FOURTUPLE,
    ]


def test_a_low_limit_of_open_files_makes_the_range_smaller_and_says_so() -> None:
    result = demo("-4", "--json", command=with_file_limit(256, 256))
    (run,) = json.loads(result.stdout)["runs"]
    low, high = run["port_range"]
    size = high - low + 1
    assert held_at(99, size) <= 256 < 400
    assert [level["percent"] for level in run["levels"]] == [5, 50, 99]
    assert "The limit of open files has room" in demo("-4", command=with_file_limit(256, 256)).stdout


def test_a_low_soft_limit_is_no_obstacle() -> None:
    result = demo("-4", "--json", command=with_file_limit(64, 1000))
    assert json.loads(result.stdout)["runs"][0]["port_range"] == [10000, 10399]


def test_too_low_a_limit_is_an_error_in_one_line() -> None:
    result = demo(command=with_file_limit(64, 64), exit_code=1)
    assert "ulimit -n" in result.stderr
    assert "Traceback" not in result.stderr


# A network that may not have further ones, with a range of 1,000 ports. It is private itself.
REFUSED = """
    import resource
    from fourtuple.cli.main import main
    from fourtuple.linux import sysctl
    from fourtuple.linux.netns import enter_user_namespace

    enter_user_namespace()
    sysctl.write("user.max_net_namespaces", 0)
    sysctl.write("net.ipv4.ip_local_port_range", "20000 20999")
    sysctl.write("net.ipv6.conf.lo.disable_ipv6", {ipv6_off})
    resource.setrlimit(resource.RLIMIT_NOFILE, ({limit}, {limit}))
    main()
"""


def refused(limit: int = 2000, *, ipv6_off: int = 0) -> list[str]:
    script = textwrap.dedent(REFUSED).format(limit=limit, ipv6_off=ipv6_off)
    return [sys.executable, "-c", script]


@pytest.mark.unprivileged
def test_where_namespaces_are_refused_it_says_so_and_measures_on_loopback() -> None:
    result = demo("--json", command=refused())
    assert "user.max_net_namespaces = 0" in result.stderr
    assert "this machine's own loopback" in result.stderr
    for run in json.loads(result.stdout)["runs"]:
        assert run["complete"]
        assert not run["private_namespace"]
        assert run["port_range"] == [20000, 20999]
        assert [level["held"] for level in run["levels"]] == [50, 500, 990]


@pytest.mark.unprivileged
def test_on_loopback_levels_beyond_the_limit_of_open_files_are_named() -> None:
    result = demo("-4", "--json", command=refused(limit=820))
    (run,) = json.loads(result.stdout)["runs"]
    assert [level["held"] for level in run["levels"]] == [50, 500, 800]
    assert run["not_measured"] == [{"percent": 99, "held": 990, "open_files_needed": 1010}]
    assert "99 % (1,010)" in demo("-4", command=refused(limit=820)).stdout


@pytest.mark.unprivileged
def test_a_machine_without_ipv6_measures_ipv4() -> None:
    result = demo("--json", command=refused(ipv6_off=1))
    assert "IPv6 is left out" in result.stderr
    (run,) = json.loads(result.stdout)["runs"]
    assert run["family"] == "IPv4"
    assert demo("-6", command=refused(ipv6_off=1), exit_code=1).stdout == ""


SECOND_LEVEL = rb"measuring 50 %"
LONG_DEMO = ["demo", "--ports", "400", "--operations", "3000"]


def test_interrupted_it_prints_what_it_has_and_leaves_no_process() -> None:
    with half_way(SECOND_LEVEL, *LONG_DEMO, "--json") as (process, rest_of_screen):
        started = descendants(process.pid)
        assert len(started) == 4
        # As a terminal does: to the whole group.
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate()
        assert "Traceback" not in rest_of_screen()
    assert process.returncode == 130
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    (run,) = json.loads(output)["runs"]
    assert not run["complete"]
    assert run["levels"][0]["percent"] == 5


def test_killed_it_leaves_no_process() -> None:
    with half_way(SECOND_LEVEL, *LONG_DEMO) as (process, _):
        started = descendants(process.pid)
        process.kill()
    assert all_end(started)
