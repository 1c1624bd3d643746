"""sockmany's server: greets each connection and closes it first."""

from __future__ import annotations

import socket
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc

from .cells import ServerCell
from .worker import Worker

if TYPE_CHECKING:
    from .cells import Cells

FAILURES = {"accept": "", "send": ""}
"""What can fail here, in the order of the tables of failures, and the name of number 0 in each."""

_ACCEPTED = ServerCell.ACCEPTED
_ACCEPT = 0
_SEND = 1
_SOL_SOCKET = socket.SOL_SOCKET
_SO_SNDBUF = socket.SO_SNDBUF
_IPPROTO_TCP = socket.IPPROTO_TCP
_TCP_QUICKACK = socket.TCP_QUICKACK


class Server(Worker):
    """Accepts connections of ``listener``, a descriptor, and sends ``size`` bytes over each, ``most`` times."""

    def __init__(self, listener: int, size: int, most: int, cells: Cells) -> None:
        super().__init__(cells, most)
        self._listener = listener
        self._size = size
        self._message = array("B", b"A" * size)

    def _step(self) -> None:
        fd = libc.accept(self._listener, 0)
        if fd < 0:
            self._fail(_ACCEPT, fd)
        else:
            self._serve(fd)
        self._cells[_ACCEPTED] += 1

    def _serve(self, fd: int) -> None:
        # getsockname() and the options are there for their cost: stress-ng asks for them and ignores the answers.
        libc.local_port(fd)
        libc.get_number(fd, _SOL_SOCKET, _SO_SNDBUF)
        libc.set_number(fd, _IPPROTO_TCP, _TCP_QUICKACK, 1)
        sent = libc.send(fd, self._message, 0, self._size, 0)
        if sent < 0:
            self._fail(_SEND, sent)
        libc.close(fd)
