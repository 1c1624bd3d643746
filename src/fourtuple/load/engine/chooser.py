"""Connecting from a chosen port, as a thread without the interpreter does it: what `fourtuple.ports.claim` is there."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

from fourtuple.linux import libc
from fourtuple.linux.sockopt import IP_LOCAL_PORT_RANGE
from fourtuple.ports.space import How, Reason

if TYPE_CHECKING:
    from .lanes import Lane

_TRIES = 64  # ports proposed for one connection before the kernel chooses, as `fourtuple.ports.registry.Limits` has it
_EADDRNOTAVAIL = errno.EADDRNOTAVAIL
_EINPROGRESS = errno.EINPROGRESS
_SOL_IP = socket.SOL_IP
_IP_LOCAL_PORT_RANGE = IP_LOCAL_PORT_RANGE
_FREED = How.FREED
_TAKEN = Reason.TAKEN
_OUTSIDE = Reason.OUTSIDE


class PortChooser:
    """One thread's way of taking ports from ``lanes``.

    ``port`` is that of the connection made last: the caller gives it back with ``release`` when it closes, 0 if there
    is none to give back. ``kernel_choices`` counts connections whose port the kernel chose, ``refused_ports`` proposals
    that it did not take.
    """

    def __init__(self, lanes: Lane) -> None:
        self.port = 0
        self.kernel_choices = 0
        self.refused_ports = 0
        self._lanes = lanes

    def connect(self, lane: int, fd: int, addresses: bytes, start: int, size: int) -> int:
        """`libc.connect` from a port of that lane, and from one of the kernel's choice when it has none left.

        On other errors than EINPROGRESS no port is kept.
        """
        self.port = 0
        for _ in range(_TRIES):
            port = self._lanes.take(lane, libc.now() * 1e-9)
            if port == 0:
                break
            libc.set_one_port(fd, port)
            code = libc.connect(fd, addresses, start, size)
            if code == -_EADDRNOTAVAIL:
                self._reject(lane, port, _TAKEN)
                continue
            if code < 0 and code != -_EINPROGRESS:
                self.release(lane, port, _FREED)
            elif libc.local_port(fd) == port:
                self.port = port
            else:
                # The kernel ignores a port outside its own range, which may have changed.
                self._reject(lane, port, _OUTSIDE)
                self._adopt(lane, fd)
            return code
        libc.set_number(fd, _SOL_IP, _IP_LOCAL_PORT_RANGE, 0)
        code = libc.connect(fd, addresses, start, size)
        if code == 0 or code == -_EINPROGRESS:
            self._adopt(lane, fd)
        return code

    def release(self, lane: int, port: int, how: int) -> None:
        """Give a port back, as `fourtuple.ports.space.How` says."""
        self._lanes.release(lane, port, how, libc.now() * 1e-9)

    def _reject(self, lane: int, port: int, reason: int) -> None:
        self._lanes.reject(lane, port, reason, libc.now() * 1e-9)
        self.refused_ports += 1

    def _adopt(self, lane: int, fd: int) -> None:
        self.kernel_choices += 1
        port = libc.local_port(fd)
        if port > 0 and self._lanes.adopt(lane, port):
            self.port = port
