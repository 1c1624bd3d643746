"""sockdiag: asks the kernel for all AF_UNIX sockets of the network namespace, over and over."""

from __future__ import annotations

import errno
import socket
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .cells import DumperCell
from .dump import DONE, MORE, REQUEST, SIZE, DumpReader
from .worker import Worker

if TYPE_CHECKING:
    from .cells import Cells

FAILURES = {"socket": "", "send": "", "recv": "truncated", "dump": ""}
"""What can fail here, in the order of the tables of failures, and the name of number 0 in each.

``dump`` is what the kernel answers instead of sockets.
"""

_ATTRIBUTES = DumperCell.ATTRIBUTES
_DUMPS = DumperCell.DUMPS
_SOCKETS = DumperCell.SOCKETS
_LEAST = DumperCell.LEAST
_GREATEST = DumperCell.GREATEST
_SOCKET = 0
_SEND = 1
_RECEIVE = 2
_DUMP = 3
_TRUNCATED = 0
_EINTR = errno.EINTR
_AF_NETLINK = socket.AF_NETLINK
_SOCK_RAW = socket.SOCK_RAW
_MSG_TRUNC = socket.MSG_TRUNC
_NETLINK_SOCK_DIAG = 4
_MORE = MORE
_DONE = DONE
_SIZE = SIZE


class Dumper(Worker):
    """Takes dumps, each over a netlink socket of its own, until they had ``most`` attributes."""

    def __init__(self, most: int, cells: Cells) -> None:
        super().__init__(cells, most)
        self._request = array("B", REQUEST)
        self._request_size = len(REQUEST)
        self._reader = DumpReader()

    def _step(self) -> None:
        fd = libc.open_socket(_AF_NETLINK, _SOCK_RAW, _NETLINK_SOCK_DIAG)
        if fd < 0:
            self._fail(_SOCKET, fd)
            return
        # Without an address a message goes to the kernel.
        sent = libc.send(fd, self._request, 0, self._request_size, 0)
        if sent < 0:
            self._fail(_SEND, sent)
        else:
            self._receive(fd)
        libc.close(fd)

    def _receive(self, fd: int) -> None:
        sockets = self._reader.sockets
        code = _MORE
        while code == _MORE:
            code = self._read(fd)
        self._cells[_ATTRIBUTES] = self._reader.attributes
        if code == _DONE:
            self._record(self._reader.sockets - sockets)

    def _read(self, fd: int) -> int:
        # One datagram: _MORE, _DONE, or below 0 if the dump failed.
        size = libc.receive(fd, self._reader.buffer, 0, _SIZE, _MSG_TRUNC)
        if size == -_EINTR:
            self._fail(_RECEIVE, size)
            return _MORE
        if size < 0:
            self._fail(_RECEIVE, size)
            return size
        if size > _SIZE:
            self._fail(_RECEIVE, _TRUNCATED)
            return -1
        code = self._reader.read(size)
        if code < 0:
            self._fail(_DUMP, code)
        return code

    def _record(self, sockets: int) -> None:
        if self._cells[_DUMPS] == 0 or sockets < self._cells[_LEAST]:
            self._cells[_LEAST] = sockets
        if sockets > self._cells[_GREATEST]:
            self._cells[_GREATEST] = sockets
        self._cells[_DUMPS] += 1
        self._cells[_SOCKETS] += sockets
