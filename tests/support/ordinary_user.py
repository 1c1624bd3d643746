"""pytest plugin: runs the `unprivileged` tier as an ordinary user, whoever runs pytest.

They run before all others, in a pytest process of their own, so that they start from a process that
has not yet entered a namespace for good. If root runs the suite, that process gives up its powers
first (support/drop_privileges.py). It sends its test reports back through a pipe, so that they
count and fail like the rest.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import TextIO

import pytest

from support import drop_privileges
from support.tiers import tier_of

TIER = "unprivileged"

Reports = dict[str, list[pytest.TestReport]]


class Handover:
    """Takes the unprivileged tests out of the session and reports what another process says."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run the unprivileged tests elsewhere, then the others here, then report on the former."""
        handed_over = [item for item in session.items if tier_of(item) == TIER]
        if not handed_over or session.testsfailed or session.config.getoption("collectonly"):
            return (yield)
        session.items = [item for item in session.items if tier_of(item) != TIER]
        reports, output = _run_elsewhere(session.config, [item.nodeid for item in handed_over])
        result = yield
        for item in handed_over:
            _log(item, reports[item.nodeid], output)
        return result


class Messenger:
    """In that other process: writes each test report to the pipe, a line of JSON each."""

    def __init__(self, config: pytest.Config, pipe: TextIO) -> None:
        self._config = config
        self._pipe = pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send the report."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        print(json.dumps(data), file=self._pipe, flush=True)

    def pytest_unconfigure(self) -> None:
        """Close the pipe."""
        self._pipe.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option by which the two processes know each other."""
    parser.addoption("--reports-to", type=int, metavar="FD", help="for the unprivileged tests")


def pytest_configure(config: pytest.Config) -> None:
    """Be the one process or the other."""
    descriptor = config.getoption("--reports-to")
    if descriptor is None:
        config.pluginmanager.register(Handover(), "handover")
    else:
        os.set_inheritable(descriptor, False)
        config.pluginmanager.register(Messenger(config, os.fdopen(descriptor, "w")), "messenger")


def _run_elsewhere(config: pytest.Config, tests: list[str]) -> tuple[Reports, str]:
    receiver, sender = os.pipe()
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile("w+") as output:
        drop_privileges.give(Path(home))
        options = [f"--reports-to={sender}", f"--basetemp={home}/tests", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [sys.executable, drop_privileges.__file__, *options, *tests],
            cwd=config.rootpath,
            env=_environment(home),
            pass_fds=[sender],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        os.close(sender)
        with open(receiver) as lines:
            reports = _read(config, lines)
        process.wait()
        output.seek(0)
        return reports, output.read()


def _environment(home: str) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": home,
        "TMPDIR": home,
        "HYPOTHESIS_STORAGE_DIRECTORY": f"{home}/hypothesis",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _read(config: pytest.Config, lines: TextIO) -> Reports:
    reports: Reports = defaultdict(list)
    for line in lines:
        data = json.loads(line)
        report = config.hook.pytest_report_from_serializable(config=config, data=data)
        reports[report.nodeid].append(report)
    return reports


def _log(item: pytest.Item, reports: list[pytest.TestReport], output: str) -> None:
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    if not reports or reports[-1].when != "teardown":
        item.ihook.pytest_runtest_logreport(report=_lost(item, output))
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _lost(item: pytest.Item, output: str) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords={},
        outcome="failed",
        longrepr=f"the process of the unprivileged tests ended before this one did:\n{output}",
        when="teardown",
    )
