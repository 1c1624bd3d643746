"""Network namespaces on the live kernel, for a process without privilege.

Each test runs in a process of its own, since a user namespace is entered for good.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from fourtuple.linux.netns import has_sys_admin

pytestmark = pytest.mark.unprivileged

# For where another test had this process enter a user namespace. Without the one capability, root
# may not map itself into another (user_namespaces(7)).
WITHOUT_PRIVILEGE = ["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all", "--"]


def run_unprivileged(*command: str) -> subprocess.CompletedProcess[str]:
    prefix = WITHOUT_PRIVILEGE if has_sys_admin() else []
    return subprocess.run([*prefix, sys.executable, *command], capture_output=True, text=True, check=False)


def run_script(text: str) -> list[str]:
    prelude = """
        import os, errno
        from fourtuple.errors import NamespacesRefused
        from fourtuple.linux import sysctl
        from fourtuple.linux.netns import *
        def where():
            return os.stat("/proc/thread-self/ns/net").st_ino
    """
    result = run_unprivileged("-c", textwrap.dedent(prelude) + textwrap.dedent(text))
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_without_privilege_a_namespace_is_refused_with_the_next_step() -> None:
    assert run_script(
        """
        home = where()
        try:
            with network_namespace():
                pass
        except NamespacesRefused as error:
            print(errno.errorcode[error.errno], "obtain_namespaces" in str(error), where() == home)
        """
    ) == ["EPERM True True"]


def test_without_privilege_a_user_namespace_gives_them() -> None:
    assert run_script(
        """
        obtain_namespaces()
        home = where()
        obtain_namespaces()
        assert where() == home, "obtained twice"
        import socket
        server = socket.create_server(("127.0.0.1", 0))
        socket.create_connection(server.getsockname())
        with network_namespace(port_range=(20000, 20001)) as namespace:
            print(os.getuid(), where() != home, *namespace.port_range)
        print(where() == home)
        """
    ) == ["0 True 20000 20001", "True"]


def test_several_threads_are_refused_with_their_number() -> None:
    assert run_script(
        """
        import threading
        stop = threading.Event()
        threading.Thread(target=stop.wait).start()
        try:
            enter_user_namespace()
        except NamespacesRefused as error:
            print(errno.errorcode[error.errno], "has 2" in str(error))
        stop.set()
        """
    ) == ["EINVAL True"]


def test_a_limit_that_is_reached_is_named_and_nothing_moves() -> None:
    assert run_script(
        """
        enter_user_namespace()
        sysctl.write("user.max_user_namespaces", 0)
        home = where()
        try:
            enter_user_namespace()
        except NamespacesRefused as error:
            named = "user.max_user_namespaces = 0" in str(error)
            print(errno.errorcode[error.errno], named, where() == home)
        """
    ) == ["ENOSPC True True"]


def test_a_refusal_leaves_the_process_where_it_was() -> None:
    # A user without an identity of its own may make no user namespace.
    assert (
        run_script(
            """
        from fourtuple.linux.syscalls import CLONE_NEWUSER, unshare
        unshare(CLONE_NEWUSER)
        home = where()
        for attempt in (enter_user_namespace, enter_user_namespace):
            try:
                attempt()
            except NamespacesRefused as error:
                print(errno.errorcode[error.errno], "run" in error.remedy, where() == home)
        """
        )
        == ["EPERM True True"] * 2
    )


PLUGIN_TESTS = """
import os, pytest
from fourtuple.linux import sysctl

seen = [os.stat("/proc/thread-self/ns/net").st_ino]

def test_default(netns):
    assert netns.port_range == sysctl.local_port_range() == (10000, 29999)
    seen.append(os.stat("/proc/thread-self/ns/net").st_ino)

@pytest.mark.port_range(20000, 20009)
def test_marked(netns):
    assert netns.port_range == (20000, 20009)
    assert os.stat("/proc/thread-self/ns/net").st_ino not in seen
"""


def test_the_fixture_works_without_privilege(tmp_path: Path) -> None:
    (tmp_path / "test_plugin.py").write_text(PLUGIN_TESTS)
    result = run_unprivileged(
        *("-m", "pytest", "--strict-markers", "-p", "fourtuple.linux.pytest_netns"),
        *("-p", "no:cacheprovider", str(tmp_path)),
    )
    assert "2 passed" in result.stdout, result.stdout + result.stderr


def test_the_fixture_tells_why_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        textwrap.dedent(
            """
            import threading
            stop = threading.Event()
            threading.Thread(target=stop.wait).start()
            def pytest_unconfigure():
                stop.set()
            """
        )
    )
    (tmp_path / "test_plugin.py").write_text(PLUGIN_TESTS)
    result = run_unprivileged(
        *("-m", "pytest", "-p", "fourtuple.linux.pytest_netns", "-p", "no:cacheprovider"),
        str(tmp_path),
    )
    assert "2 errors" in result.stdout
    assert "a process with one thread and this one has 2" in result.stdout
