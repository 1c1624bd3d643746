"""Networks for tests that loopback cannot serve, made with the ip program inside namespaces."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager

from fourtuple.linux.netns import NetworkNamespace, network_namespace

HERE = {4: "10.77.0.1", 6: "fd77::1"}
THERE = {4: "10.77.0.2", 6: "fd77::2"}


def ip(arguments: str, pass_fds: tuple[int, ...] = ()) -> None:
    """Run the ip program in the calling thread's network namespace."""
    subprocess.run(["ip", *arguments.split()], check=True, pass_fds=pass_fds)


def add_local_prefix(prefix: str) -> None:
    """Make every address of an IPv6 prefix local, without adding them one by one."""
    ip(f"-6 route add local {prefix} dev lo")


@contextmanager
def linked_namespaces(
    port_range: tuple[int, int],
) -> Generator[tuple[NetworkNamespace, NetworkNamespace], None, None]:
    """Two fresh namespaces joined by a cable, ``veth0`` in each; the caller is in the first."""
    with network_namespace() as there, network_namespace(port_range=port_range) as here:
        fd = there.fileno()
        ip(f"link add veth0 type veth peer name veth0 netns /proc/self/fd/{fd}", pass_fds=(fd,))
        for namespace, addresses in ((there, THERE), (here, HERE)):
            with namespace.enter():
                ip(f"addr add {addresses[4]}/24 dev veth0")
                ip(f"addr add {addresses[6]}/64 dev veth0 nodad")
                ip("link set veth0 up")
        yield here, there
