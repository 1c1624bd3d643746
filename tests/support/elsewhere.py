"""pytest plugin: tiers that run in a pytest process of their own.

The process of the other tests may enter a user namespace for good, and with it a private network. The
tests of tier `unprivileged` must start from a process that has not, and, if root runs the suite, has
given up its powers (support/drop_privileges.py); those of tier `build` need the machine's network.
The other process sends its test reports back through a pipe, so that they count and fail like the rest.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Generator
from typing import TextIO

import pytest

from support import drop_privileges
from support.tiers import tier_of

# The command that each of these tiers is run by.
ELSEWHERE = {
    "unprivileged": [sys.executable, drop_privileges.__file__],
    "build": [sys.executable, "-m", "pytest"],
}

Reports = dict[str, list[pytest.TestReport]]


class Handover:
    """Takes the tests of those tiers out of the session and reports what the other processes say."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Run the tests that belong elsewhere, then the others here, then report on the former."""
        if session.testsfailed or session.config.getoption("collectonly"):
            return (yield)
        told: list[tuple[pytest.Item, list[pytest.TestReport], str]] = []
        for tier, command in ELSEWHERE.items():
            items = [item for item in session.items if tier_of(item) == tier]
            if items:
                reports, output = _run(session.config, command, items)
                told += [(item, reports[item.nodeid], output) for item in items]
        session.items = [item for item in session.items if tier_of(item) not in ELSEWHERE]
        result = yield
        for item, item_reports, output in told:
            _log(item, item_reports, output)
        return result


class Messenger:
    """In the other process: writes each test report to the pipe, a line of JSON each."""

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
    parser.addoption("--reports-to", type=int, metavar="FD", help="for tests that run elsewhere")


def pytest_configure(config: pytest.Config) -> None:
    """Be the one process or the other."""
    descriptor = config.getoption("--reports-to")
    if descriptor is None:
        config.pluginmanager.register(Handover(), "handover")
    else:
        os.set_inheritable(descriptor, False)
        config.pluginmanager.register(Messenger(config, os.fdopen(descriptor, "w")), "messenger")


def _run(config: pytest.Config, command: list[str], items: list[pytest.Item]) -> tuple[Reports, str]:
    receiver, sender = os.pipe()
    with tempfile.TemporaryFile("w+") as output:
        options = [f"--reports-to={sender}", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, *options, *(item.nodeid for item in items)],
            cwd=config.rootpath,
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
        longrepr=f"the process that ran this test ended before the test did:\n{output}",
        when="teardown",
    )
