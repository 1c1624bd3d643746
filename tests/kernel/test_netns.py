"""Network namespaces on the live kernel, for a thread that may make them."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable

import pytest

from fourtuple.errors import Unsupported
from fourtuple.linux import sysctl
from fourtuple.linux.netns import (
    NetworkNamespace,
    network_namespace,
    rehearse_namespaces,
)
from kernel.links import HERE, THERE, linked_namespaces

# Every test here starts from a namespace of its own, so that none touches the machine's network.
pytestmark = pytest.mark.usefixtures("netns")


def where() -> int:
    """Which network namespace the calling thread is in."""
    return os.stat("/proc/thread-self/ns/net").st_ino


def in_thread(action: Callable[[], int]) -> int:
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(action()))
    thread.start()
    thread.join()
    return results[0]


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_the_thread_is_moved_and_comes_back() -> None:
    home = where()
    with network_namespace():
        assert where() != home
    assert where() == home


def test_an_exception_brings_the_thread_back() -> None:
    home = where()
    with pytest.raises(KeyError), network_namespace():
        raise KeyError
    assert where() == home


def test_nested_namespaces_unwind_one_by_one() -> None:
    with network_namespace():
        outer = where()
        with network_namespace():
            assert where() != outer
        assert where() == outer


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.9.8.7"), (socket.AF_INET6, "::1")])
def test_loopback_is_up(family: int, host: str) -> None:
    with (
        network_namespace(),
        socket.socket(family, socket.SOCK_STREAM) as server,
        socket.socket(family, socket.SOCK_STREAM) as client,
    ):
        server.bind((host, 0))
        server.listen()
        client.connect(server.getsockname())


def test_port_range_and_sysctls_are_set_inside_only() -> None:
    before = sysctl.local_port_range(), sysctl.tcp_tw_reuse()
    with network_namespace(
        port_range=(20000, 20099), sysctls={"net.ipv4.tcp_tw_reuse": 1 - before[1] % 2}
    ) as namespace:
        assert namespace.port_range == sysctl.local_port_range() == (20000, 20099)
        assert sysctl.tcp_tw_reuse() != before[1]
    assert (sysctl.local_port_range(), sysctl.tcp_tw_reuse()) == before


@pytest.mark.parametrize("wrong", [(0, 10), (10, 9), (1, 65536)])
def test_a_wrong_port_range_is_named(wrong: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="port_range"), network_namespace(port_range=wrong):
        pass


def test_a_failed_setting_brings_the_thread_back_and_leaks_nothing() -> None:
    home, files = where(), open_files()
    with (
        pytest.raises(Unsupported, match=r"net\.ipv4\.no_such"),
        network_namespace(sysctls={"net.ipv4.no_such": 1}),
    ):
        pass
    assert (where(), open_files()) == (home, files)


def test_no_file_descriptor_is_left() -> None:
    files = open_files()
    with network_namespace() as namespace:
        namespace.set_sysctl("net.ipv4.tcp_fin_timeout", 7)
    assert open_files() == files


def test_other_threads_stay_and_new_threads_and_processes_follow() -> None:
    home = where()
    inside, checked = threading.Event(), threading.Event()
    seen: list[int] = []

    def bystander() -> None:
        inside.wait()
        seen.append(where())
        checked.set()

    thread = threading.Thread(target=bystander)
    thread.start()
    with network_namespace():
        inside.set()
        checked.wait()
        assert in_thread(where) == where() != home
        child = subprocess.run(["stat", "-L", "-c", "%i", "/proc/self/ns/net"], capture_output=True, check=True)
        assert int(child.stdout) == where()
    thread.join()
    assert seen == [home]


def test_a_thread_comes_back_to_its_own_namespace_not_the_main_threads() -> None:
    home = where()
    moved = threading.Event()
    seen: list[int] = []

    def visit() -> None:
        moved.wait()
        with network_namespace():
            pass
        seen.append(where())

    thread = threading.Thread(target=visit)
    thread.start()
    with network_namespace():
        moved.set()
        thread.join()
    assert seen == [home]


def test_a_thread_can_join_and_leave() -> None:
    home = where()
    with network_namespace() as namespace:
        inner = where()
        outside = NetworkNamespace.current()
    try:

        def visit() -> int:
            with outside.enter():
                assert where() == inner
            return where()

        assert in_thread(visit) == home
        assert where() == home
    finally:
        outside.close()
    with pytest.raises(ValueError, match="closed"), namespace.enter():
        pass


def test_settings_are_changed_from_outside() -> None:
    with network_namespace():
        namespace = NetworkNamespace.current()
    name = "net.ipv4.tcp_fin_timeout"
    before = int(sysctl.read(name))
    namespace.set_sysctl(name, before + 1)
    assert int(sysctl.read(name)) == before
    with namespace.enter():
        assert int(sysctl.read(name)) == before + 1
    namespace.close()
    namespace.close()


def test_rehearsing_moves_nobody() -> None:
    home = where()
    rehearse_namespaces()
    assert where() == home


def test_two_namespaces_can_be_linked() -> None:
    with linked_namespaces((20000, 20099)) as (_, there):
        for family, version in ((socket.AF_INET, 4), (socket.AF_INET6, 6)):
            with there.enter():
                server = socket.create_server((THERE[version], 8080), family=family)
            with server, socket.create_connection(server.getsockname()[:2]) as client:
                assert client.getsockname()[0] == HERE[version]
                assert client.getsockname()[1] in range(20000, 20100)
