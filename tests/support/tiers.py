"""pytest plugin: tiers of tests, and no silent skips.

Each test belongs to one tier: that of its nearest tier marker, else that of the folder under tests/
it lies in, else `pure`. With `CI=true` or `FOURTUPLE_NO_SKIPS=1` the session fails if a test was
skipped, unless for a need that this machine cannot meet, and if a tier with a folder of its own
has no test.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from support.needs import NAMESPACES, ROOT, USER_NAMESPACES, Need

TIERS = {
    "pure": "no more than the interpreter (the default)",
    "kernel": "the live kernel, in network namespaces, as root or not",
    "unprivileged": "the live kernel as an ordinary user sees it, in a process of its own",
    "root": "the live kernel with the powers of root",
    "programs": "other programs",
    "build": "builds the package; takes its requirements from the package index",
}

TIER_NEEDS = {"kernel": NAMESPACES, "unprivileged": USER_NAMESPACES, "root": ROOT}

# The property by which the report of a skipped test says that the machine is to blame.
_EXCUSED = "excused"


def tier_of(item: pytest.Item) -> str:
    """The tier of a collected test."""
    return next(marker.name for marker in item.iter_markers() if marker.name in TIERS)


class Tiers:
    """Sorts tests into tiers, skips what the machine cannot run, and counts."""

    def __init__(self, config: pytest.Config) -> None:
        environ = os.environ
        self._no_skips = environ.get("CI") == "true" or environ.get("FOURTUPLE_NO_SKIPS") == "1"
        whole_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        self._guarded = self._no_skips and whole_suite
        self._tests = config.rootpath / "tests"
        self._lacks: dict[Need, str | None] = {}
        self._tier_of_test: dict[str, str] = {}
        self._ran: set[str] = set()
        self._skipped: set[str] = set()
        self._unexcused: dict[str, str] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Give the test its tier as a marker, so that -m selects by it."""
        if not any(marker.name in TIERS for marker in item.iter_markers()):
            item.add_marker(next((t for t in TIERS if self._tests / t in item.path.parents), "pure"))
        self._tier_of_test[item.nodeid] = tier_of(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip the test if something it needs is missing."""
        for need in self._needs(item):
            if need not in self._lacks:
                self._lacks[need] = need.lack()
            lack = self._lacks[need]
            if lack is not None:
                if not need.can_be_met:
                    item.user_properties.append((_EXCUSED, need.name))
                pytest.skip(f"requires {need.name}: {lack}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a module that skipped itself."""
        if report.skipped:
            self._unexcused[report.nodeid] = _reason(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the test."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped.add(report.nodeid)
            if _EXCUSED not in dict(report.user_properties):
                self._unexcused[report.nodeid] = _reason(report)
        elif report.when == "call" or report.failed:
            self._ran.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a session that passed by leaving something out."""
        if exitstatus == pytest.ExitCode.OK and any(self._faults()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a line per tier, and what is wrong with the session."""
        terminalreporter.section("tiers")
        ran = Counter(self._tier_of_test[test] for test in self._ran - self._skipped)
        skipped = Counter(self._tier_of_test[test] for test in self._skipped)
        for tier in TIERS:
            terminalreporter.line(f"{tier:13} {ran[tier]:5} ran {skipped[tier]:5} skipped")
        for fault in self._faults():
            terminalreporter.line(fault, red=True)

    def _needs(self, item: pytest.Item) -> Iterator[Need]:
        tier = tier_of(item)
        if tier in TIER_NEEDS:
            yield TIER_NEEDS[tier]
        for marker in item.iter_markers("requires"):
            yield from marker.args

    def _faults(self) -> Iterator[str]:
        if self._no_skips:
            for test, reason in sorted(self._unexcused.items()):
                yield f"skipped though this machine can run it: {test} ({reason})"
        if self._guarded:
            for tier in TIERS.keys() - self._tier_of_test.values():
                if (self._tests / tier).is_dir():
                    yield f"no test was found in tier {tier}, which has a folder: tests/{tier}"


def _reason(report: pytest.CollectReport | pytest.TestReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext


def pytest_configure(config: pytest.Config) -> None:
    """Announce the markers and start counting."""
    for tier, meaning in TIERS.items():
        config.addinivalue_line("markers", f"{tier}: {meaning}")
    config.addinivalue_line("markers", "requires(*needs): skip where one of these needs is missing")
    config.pluginmanager.register(Tiers(config), "tiers")
