"""Network namespaces: private loopback, port range and TCP settings for the calling thread.

Linux keeps the network namespace per thread. `network_namespace` moves only the thread that calls
it; threads and processes started inside inherit it, others join with `NetworkNamespace.enter`. That
takes CAP_SYS_ADMIN, which an unprivileged process gets over itself from `enter_user_namespace`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from typing import Final

from fourtuple.errors import NamespacesRefused
from fourtuple.linux import sysctl
from fourtuple.linux.syscalls import CLONE_NEWNET, CLONE_NEWUSER, setns, unshare

# Of <linux/capability.h>, <linux/sockios.h> and <linux/if.h>.
_CAP_SYS_ADMIN: Final = 21
_SIOCGIFFLAGS: Final = 0x8913
_SIOCSIFFLAGS: Final = 0x8914
_IFF_UP: Final = 1
# struct ifreq: name, flags, and the rest of its union.
_IFREQ: Final = struct.Struct("16sH22x")


class NetworkNamespace:
    """A network namespace, held open.

    It lasts until it is closed and no thread, process or socket is left in it.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def current(cls) -> NetworkNamespace:
        """Return the namespace of the calling thread."""
        return cls(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))

    def fileno(self) -> int:
        """Return the descriptor that holds the namespace. Raises ``ValueError`` after `close`."""
        if self._fd < 0:
            raise ValueError("this network namespace is closed")
        return self._fd

    @contextmanager
    def enter(self) -> Generator[NetworkNamespace, None, None]:
        """Have the calling thread in this namespace for the length of a ``with`` block.

        Raises ``ValueError`` after `close`, and ``OSError`` (``EPERM``) without CAP_SYS_ADMIN.
        """
        with _moved(lambda: setns(self.fileno(), CLONE_NEWNET)):
            yield self

    @property
    def port_range(self) -> sysctl.PortRange:
        """The local port range, as it is now."""
        with self.enter():
            return sysctl.local_port_range()

    def set_sysctl(self, name: str, value: str | int) -> None:
        """Change a setting of this namespace from any thread.

        Raises what `fourtuple.linux.sysctl.write` raises.
        """
        with self.enter():
            sysctl.write(name, value)

    def close(self) -> None:
        """Let go of the namespace. Closing twice is harmless."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@contextmanager
def network_namespace(
    *,
    port_range: tuple[int, int] | None = None,
    sysctls: Mapping[str, str | int] | None = None,
) -> Generator[NetworkNamespace, None, None]:
    """Have the calling thread in a fresh network namespace for the length of a ``with`` block.

    Loopback is up: all of 127.0.0.0/8, and ``::1`` where the kernel has IPv6. ``port_range`` (both
    ends included) becomes the local port range, then ``sysctls`` are set in order. Leaving the
    block, by an exception too, brings the thread back to where it was; threads and processes that
    it started stay inside.

    Raises ``NamespacesRefused`` without CAP_SYS_ADMIN or past a limit, ``ValueError`` for a wrong
    ``port_range``, and what `fourtuple.linux.sysctl.write` raises.
    """
    if port_range is not None and not 1 <= port_range[0] <= port_range[1] <= 65535:
        raise ValueError(f"port_range: {port_range} is no (low, high) pair between 1 and 65535")
    with _moved(_unshare_network), closing(NetworkNamespace.current()) as namespace:
        _bring_loopback_up()
        if port_range is not None:
            low, high = port_range
            sysctl.write("net.ipv4.ip_local_port_range", f"{low} {high}")
        for name, value in (sysctls or {}).items():
            sysctl.write(name, value)
        yield namespace


def enter_user_namespace() -> None:
    """Move an unprivileged process into a user and a network namespace of its own, for good.

    Afterwards `network_namespace` works and returns to that private network, which has loopback up;
    the user is root inside, the same user as before to everyone else. The process must have one
    thread. The steps are tried in a child process first, so a refusal leaves the process where it
    was.

    Raises ``NamespacesRefused``: ``EINVAL`` with several threads, ``EPERM`` or ``ENOSPC`` where a
    setting forbids it, which the text names.
    """
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        raise NamespacesRefused(
            errno.EINVAL,
            f"a user namespace takes a process with one thread and this one has {threads}: "
            "enter it before starting threads, or run as root",
        )
    _rehearse(_become_root_of_own)
    _become_root_of_own()
    _bring_loopback_up()


def obtain_namespaces() -> None:
    """Make sure that `network_namespace` works: enter a user namespace if CAP_SYS_ADMIN is missing.

    Raises ``NamespacesRefused`` like `enter_user_namespace`.
    """
    if not has_sys_admin():
        enter_user_namespace()


def rehearse_namespaces() -> None:
    """Try `obtain_namespaces` and `network_namespace` in a child; the caller stays where it is.

    Raises ``NamespacesRefused`` if they would be refused.
    """
    _rehearse(_stay if has_sys_admin() else _become_root_of_own)


def has_sys_admin() -> bool:
    """Return whether the calling thread has CAP_SYS_ADMIN in its user namespace."""
    with open("/proc/thread-self/status", encoding="ascii", errors="replace") as status:
        effective = next(line for line in status if line.startswith("CapEff:"))
    return bool(int(effective.split()[1], 16) >> _CAP_SYS_ADMIN & 1)


@contextmanager
def _moved(move: Callable[[], None]) -> Generator[None, None, None]:
    with closing(NetworkNamespace.current()) as home:
        move()
        try:
            yield
        finally:
            setns(home.fileno(), CLONE_NEWNET)


def _unshare_network() -> None:
    try:
        unshare(CLONE_NEWNET)
    except OSError as error:
        raise _refused(error) from error


def _bring_loopback_up() -> None:
    # Hosts that switched IPv6 off at boot hand that down to new namespaces.
    disable_ipv6 = "net.ipv6.conf.all.disable_ipv6"
    if sysctl.exists(disable_ipv6):
        sysctl.write(disable_ipv6, 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = _IFREQ.pack(b"lo", 0)
        _, flags = _IFREQ.unpack(fcntl.ioctl(sock, _SIOCGIFFLAGS, request))
        fcntl.ioctl(sock, _SIOCSIFFLAGS, _IFREQ.pack(b"lo", flags | _IFF_UP))


def _become_root_of_own() -> None:
    uid, gid = os.geteuid(), os.getegid()
    unshare(CLONE_NEWUSER | CLONE_NEWNET)
    # user_namespaces(7): an unprivileged process may map its own ids alone, the group only once it
    # has given up setgroups(2). Root inside, because a program started by any other user loses its
    # capabilities.
    for file, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as out:
            out.write(text)


def _stay() -> None:
    pass


def _rehearse(first: Callable[[], None]) -> None:
    # A user namespace cannot be left again, and may prove useless only once inside (AppArmor takes
    # its capabilities away). The child tells by its exit status, an errno.
    pid = os.fork()
    if pid == 0:
        code = errno.EPROTO
        try:
            first()
            with network_namespace():
                code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise _refused(OSError(code, os.strerror(code)))


def _refused(error: OSError) -> NamespacesRefused:
    code = error.errno or errno.EPERM
    return NamespacesRefused(code, _remedy(code))


def _remedy(code: int) -> str:
    if code == errno.ENOSPC:
        limits = ("user.max_user_namespaces", "user.max_net_namespaces")
        figures = ", ".join(f"{name} = {_knob(name)}" for name in limits)
        return f"raise the limit reached ({figures}) with sysctl -w, or end what holds namespaces"
    if code in (errno.EPERM, errno.EACCES):
        for name, forbidding in (
            ("kernel.apparmor_restrict_unprivileged_userns", "1"),
            ("kernel.unprivileged_userns_clone", "0"),
        ):
            if _knob(name) == forbidding:
                return f"run as root, or change {name}, which is {forbidding}, with sysctl -w"
        if has_sys_admin():
            return "run outside a container, or allow unshare(2) in the container's seccomp profile"
        return "run as root, or enter a user namespace first (obtain_namespaces)"
    return "use a kernel with CONFIG_NET_NS and CONFIG_USER_NS, or the machine's own network"


def _knob(name: str) -> str | None:
    return sysctl.read(name) if sysctl.exists(name) else None
