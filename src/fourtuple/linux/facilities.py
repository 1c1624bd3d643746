"""What else of the kernel fourtuple builds on, found by trying it; for reports.

Namespaces for measurements, and what serves unmodified programs: looking up sockets, acting on
another program's connect(), and choosing ports inside the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from typing import Final

from fourtuple.linux import syscalls
from fourtuple.linux.features import Feature, attempt, listener
from fourtuple.linux.netns import has_sys_admin, rehearse_namespaces
from fourtuple.linux.tcp_info import TcpState

# <linux/sock_diag.h>, <linux/inet_diag.h>: header, then inet_diag_req_v2 with its addresses in
# network byte order.
_NETLINK_SOCK_DIAG: Final = 4
_SOCK_DIAG_BY_FAMILY: Final = 20
_NLM_F_REQUEST: Final = 1
_NLMSG_ERROR: Final = 2
_HEADER: Final = struct.Struct("=IHHII")
_REQUEST: Final = struct.Struct("=BBBxI")
_ID: Final = struct.Struct("!HH16s16s")
_ANY_INTERFACE_OR_COOKIE: Final = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)

_NO_SUPERVISOR: Final = "unmodified programs cannot be served without privilege"

_SECCOMP_GET_ACTION_AVAIL: Final = 2
_SECCOMP_RET_USER_NOTIF: Final = 0x7FC00000

# <linux/bpf.h>. The program is "r0 = 1; exit": let every connect() pass.
_BPF_PROG_LOAD: Final = 5
_BPF_PROG_TYPE_CGROUP_SOCK_ADDR: Final = 18
_BPF_CGROUP_INET4_CONNECT: Final = 10
_BPF_PASS: Final = bytes.fromhex("b7000000010000009500000000000000")


def network_namespaces() -> Feature:
    """Try to make a network namespace in a child process, as root or through a user namespace."""

    def action() -> str:
        rehearse_namespaces()
        return "as root" if has_sys_admin() else "through a user namespace"

    return attempt(
        "network namespaces",
        "measurements run in the machine's own network, within its port range",
        action,
    )


def socket_lookup() -> Feature:
    """Try sock_diag's look-up of one socket by its four-tuple, on a listener made for it."""

    def action() -> str:
        with listener(socket.AF_INET) as server:
            host, port = server.getsockname()
            local = _ID.pack(port, 0, socket.inet_aton(host), b"") + _ANY_INTERFACE_OR_COOKIE
            request = _REQUEST.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 1 << TcpState.LISTEN)
            kind, body = _ask(request + local)
        if kind == _NLMSG_ERROR:
            code = -int.from_bytes(body[:4], "little", signed=True)
            raise OSError(code, os.strerror(code))
        if body[1] != TcpState.LISTEN:
            raise OSError(errno.EPROTO, f"found the socket in state {body[1]} instead of LISTEN")
        return "by four-tuple, over sock_diag"

    return attempt("socket look-up", "a port's owner is found by listing all sockets", action)


def seccomp_notification() -> Feature:
    """Ask whether seccomp knows ``SECCOMP_RET_USER_NOTIF``: a supervisor decides on a call."""

    def action() -> str:
        wanted = ctypes.c_uint32(_SECCOMP_RET_USER_NOTIF)
        syscalls.seccomp(_SECCOMP_GET_ACTION_AVAIL, 0, wanted)
        return "a supervisor can act on connect()"

    return attempt("seccomp notification", _NO_SUPERVISOR, action)


def descriptor_sharing() -> Feature:
    """Try pidfd_getfd(2) on this very process."""

    def action() -> str:
        with socket.socket() as sock:
            pidfd = os.pidfd_open(os.getpid())
            try:
                copy = syscalls.pidfd_getfd(pidfd, sock.fileno())
            finally:
                os.close(pidfd)
            same = os.path.samestat(os.fstat(copy), os.fstat(sock.fileno()))
            os.close(copy)
        if not same:
            raise OSError(errno.EPROTO, "got another file than asked for")
        return "a program's sockets can be set up"

    return attempt("pidfd_getfd", _NO_SUPERVISOR, action)


def bpf_connect_hook() -> Feature:
    """Try to load (not to attach) a BPF program of the kind that sees connect()."""

    def action() -> str:
        program = ctypes.create_string_buffer(_BPF_PASS, len(_BPF_PASS))
        licence = ctypes.create_string_buffer(b"Apache-2.0")
        attributes = struct.pack(
            "=IIQQ44xI",
            _BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
            len(_BPF_PASS) // 8,
            ctypes.addressof(program),
            ctypes.addressof(licence),
            _BPF_CGROUP_INET4_CONNECT,
        )
        os.close(syscalls.bpf(_BPF_PROG_LOAD, attributes))
        return "programs can be loaded"

    return attempt("BPF at connect()", "unmodified programs are served by the slower supervisor only", action)


def cgroup2() -> Feature:
    """Find where the unified cgroup hierarchy is mounted."""

    def action() -> str:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as mounts:
            fields = (line.split() for line in mounts)
            found = [field[1] for field in fields if field[2] == "cgroup2"]
        if not found:
            raise OSError(errno.ENOENT, "not mounted")
        return f"at {', '.join(found)}"

    return attempt("cgroup2", "BPF programs cannot be limited to chosen programs", action)


def kernel_facilities() -> Iterator[Feature]:
    """Try everything in this module, one after the other."""
    yield network_namespaces()
    yield socket_lookup()
    yield seccomp_notification()
    yield descriptor_sharing()
    yield bpf_connect_hook()
    yield cgroup2()


def _ask(request: bytes) -> tuple[int, bytes]:
    # One sock_diag request; the kind and the body of the reply.
    message = _HEADER.pack(_HEADER.size + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 0, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as netlink:
        netlink.send(message + request)
        reply = netlink.recv(8192)
    _, kind, *_ = _HEADER.unpack_from(reply)
    return kind, reply[_HEADER.size :]
