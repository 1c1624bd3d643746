"""The rules for tiers and skips, each tried on a small suite of its own."""

import os
from pathlib import Path

import pytest

from support.drop_privileges import ORDINARY_ID, closed_folder

pytestmark = pytest.mark.pure

TESTS = Path(__file__).parents[1]

PREAMBLE = """
import os, pytest, sys
from support.needs import Need, program, requires
"""


class Suite:
    """A suite with this one's plugins, run by a pytest of its own."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester
        pytester.makefile(
            ".toml",
            pyproject=f"""
            [tool.pytest]
            testpaths = ["tests"]
            pythonpath = ["{TESTS}"]
            addopts = ["--import-mode=importlib", "-p", "no:cacheprovider"]
            """,
        )
        self._write("conftest.py", 'pytest_plugins = ["support.tiers", "support.elsewhere"]')

    def add(self, name: str, text: str) -> None:
        self._write(name, PREAMBLE + text)

    def run(self, *arguments: str) -> pytest.RunResult:
        return self._pytester.runpytest_subprocess(*arguments)

    def _write(self, name: str, text: str) -> None:
        file = self._pytester.path / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Suite:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("FOURTUPLE_NO_SKIPS", raising=False)
    return Suite(pytester)


@pytest.fixture(params=[("CI", "true"), ("FOURTUPLE_NO_SKIPS", "1")], ids=["CI", "own"])
def no_skips(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    monkeypatch.setenv(*request.param)


def test_the_nearest_marker_decides_then_the_folder_then_it_is_pure(suite: Suite):
    suite.add("test_plain.py", "def test_it(): pass")
    suite.add("programs/deep/test_folder.py", "def test_it(): pass")
    suite.add(
        "programs/test_marked.py",
        """
pytestmark = pytest.mark.build

def test_module(): pass

@pytest.mark.pure
def test_own(): pass
""",
    )
    result = suite.run()
    result.stdout.re_match_lines(["pure +2 ran +0 skipped", "programs +1 ran +0 skipped", "build +1 ran +0 skipped"])
    suite.run("-m", "pure").assert_outcomes(passed=2, deselected=2)


SKIPS = {
    "in the test": "def test_it(): pytest.skip('no mood')",
    "by a marker": "@pytest.mark.skip(reason='no mood')\ndef test_it(): pass",
    "of the module": "pytest.skip('no mood', allow_module_level=True)",
    "for lack of a program": "@requires(program('no-such-program'))\ndef test_it(): pass",
}


@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS)
def test_a_skip_passes_where_skips_are_allowed(suite: Suite, text: str):
    suite.add("test_other.py", "def test_other(): pass")
    suite.add("test_skip.py", text)
    assert suite.run().ret == pytest.ExitCode.OK


@pytest.mark.usefixtures("no_skips")
@pytest.mark.parametrize("text", SKIPS.values(), ids=SKIPS)
def test_a_skip_fails_where_none_is_allowed(suite: Suite, text: str):
    suite.add("test_other.py", "def test_other(): pass")
    suite.add("test_skip.py", text)
    result = suite.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.re_match_lines([r"skipped though .*: tests/test_skip\.py.* \(.*(mood|PATH)"])


@pytest.mark.usefixtures("no_skips")
def test_a_need_that_the_machine_cannot_meet_is_an_excuse(suite: Suite):
    suite.add(
        "test_excused.py",
        """
@requires(Need("a third hand", lambda: "two found"))
def test_it(): raise AssertionError

@requires(Need("a hand", lambda: None))
def test_other(): pass
""",
    )
    result = suite.run("-rs")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.re_match_lines(["pure +1 ran +1 skipped", ".*requires a third hand: two found"], consecutive=False)


@pytest.mark.usefixtures("no_skips")
def test_an_expected_failure_is_no_skip(suite: Suite):
    suite.add("test_xfail.py", "@pytest.mark.xfail\ndef test_it(): raise AssertionError")
    result = suite.run()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.re_match_lines(["pure +1 ran +0 skipped"])


@pytest.mark.usefixtures("no_skips")
def test_a_tier_with_a_folder_and_no_test_fails_the_whole_suite_only(suite: Suite):
    suite.add("test_plain.py", "def test_it(): pass")
    suite.add("kernel/helper.py", "")
    result = suite.run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.re_match_lines(["no test was found in tier kernel"])
    assert suite.run("tests/test_plain.py").ret == pytest.ExitCode.OK


def test_no_test_at_all_fails(suite: Suite):
    assert suite.run().ret == pytest.ExitCode.NO_TESTS_COLLECTED


# The tier's need of user namespaces is not what these try.
UNPRIVILEGED = """
import support.tiers
support.tiers.TIER_NEEDS.clear()
pytestmark = pytest.mark.unprivileged
"""


def test_unprivileged_tests_run_elsewhere_and_are_reported_here(suite: Suite):
    suite.add("test_here.py", "def test_here(): assert not hasattr(sys, 'elsewhere')")
    suite.add(
        "test_there.py",
        UNPRIVILEGED
        + """
def test_passes(tmp_path):
    sys.elsewhere = True
    (tmp_path / "mine").touch()

def test_fails():
    assert "this" == "that"
""",
    )
    result = suite.run()
    result.assert_outcomes(passed=2, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*assert 'this' == 'that'"])
    result.stdout.re_match_lines(["pure +1 ran +0 skipped", "unprivileged +2 ran +0 skipped"])


@pytest.mark.usefixtures("no_skips")
def test_a_skip_elsewhere_fails_too(suite: Suite):
    suite.add("test_there.py", UNPRIVILEGED + "def test_it(): pytest.skip('no mood')")
    assert suite.run().ret == pytest.ExitCode.TESTS_FAILED


def test_tests_lost_with_their_process_fail(suite: Suite):
    suite.add(
        "test_there.py",
        UNPRIVILEGED
        + """
def test_before(): pass
def test_ends(): os._exit(0)
def test_after(): pass
""",
    )
    result = suite.run()
    result.assert_outcomes(passed=1, errors=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.root
def test_root_becomes_an_ordinary_user_who_can_start_python(suite: Suite, tmp_path: Path):
    assert closed_folder(tmp_path), "the suite should lie where an ordinary user cannot go"
    suite.add(
        "test_there.py",
        UNPRIVILEGED
        + f"""
import subprocess

def test_it():
    assert os.getresuid() == os.getresgid() == ({ORDINARY_ID},) * 3
    assert os.getgroups() == []
    with open("/proc/self/status") as status:
        assert "CapEff:\\t0000000000000000\\n" in status
    subprocess.run([sys.executable, "-c", "import click"], check=True)
    with pytest.raises(PermissionError):
        os.setuid(0)
""",
    )
    suite.run().assert_outcomes(passed=1)
    assert closed_folder(tmp_path), "the real folder must be as it was"


def test_the_first_closed_folder_on_the_way_is_found(tmp_path: Path):
    path = tmp_path / "open" / "closed" / "file"
    path.parent.mkdir(parents=True)
    path.touch()
    for folder in [*path.parents]:
        if os.stat(folder).st_uid == os.geteuid() and folder.is_relative_to(tmp_path):
            folder.chmod(0o755)
    path.parent.chmod(0o700)
    above = closed_folder(tmp_path)
    assert closed_folder(path) == (above or path.parent)
    path.parent.chmod(0o755)
    assert closed_folder(path) == above
