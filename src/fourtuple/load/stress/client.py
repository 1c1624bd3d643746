"""sockmany's client: connects until something runs out, closes everything, and begins again."""

from __future__ import annotations

import errno
import socket
from array import array
from typing import TYPE_CHECKING

from fourtuple.linux import libc
from fourtuple.load.engine.chooser import PortChooser
from fourtuple.ports.space import How

from .cells import ClientCell
from .worker import Worker

if TYPE_CHECKING:
    from fourtuple.load.engine.lanes import Lane

    from .cells import Cells

FAILURES = {"socket": "", "connect": "", "recv": "closed"}
"""What can fail here, in the order of the tables of failures, and the name of number 0 in each."""

_ROUNDS = ClientCell.ROUNDS
_CONNECTIONS = ClientCell.CONNECTIONS
_HELD = ClientCell.HELD
_MOST_HELD = ClientCell.MOST_HELD
_KERNEL_CHOICES = ClientCell.KERNEL_CHOICES
_REFUSED_PORTS = ClientCell.REFUSED_PORTS
_SOCKET = 0
_CONNECT = 1
_RECEIVE = 2
_AF_INET = socket.AF_INET
_SOCK_STREAM = socket.SOCK_STREAM
_SHUT_RDWR = socket.SHUT_RDWR
_EADDRNOTAVAIL = errno.EADDRNOTAVAIL
_ECONNREFUSED = errno.ECONNREFUSED
_ADDRESS_SIZE = 16
_MOST_SOCKETS = 100_000  # held at once
_PAUSE = 10_000_000  # nanoseconds until connect() is tried again after an error that is no lack of anything

_FREED = How.FREED


class Client(Worker):
    """Connects to ``address``, a ``struct sockaddr_in``, receives up to ``size`` bytes once, and keeps the connection.

    A step is a round: up to 100,000 connections or until socket() fails, connect() finds no port or no
    listener, or a connection is reset. The kernel chooses the ports.
    """

    def __init__(self, address: bytes, size: int, cells: Cells) -> None:
        super().__init__(cells)
        self._address = address
        self._size = size
        self._buffer = array("B", bytes(size))
        self._fds = array("i", bytes(4 * _MOST_SOCKETS))

    def _step(self) -> None:
        place = 0
        while place < _MOST_SOCKETS:
            code = self._open(place)
            if code < 0:
                # Another error of connect() may pass, so this place is tried again.
                if code == -_EADDRNOTAVAIL or code == -_ECONNREFUSED or self._fds[place] < 0:
                    break
                libc.pause(_PAUSE)
                continue
            place += 1
            self._cells[_HELD] = place
            if place > self._cells[_MOST_HELD]:
                self._cells[_MOST_HELD] = place
            if not self._receive(place - 1):
                break
        for held in range(place):
            self._close(held)
        self._cells[_HELD] = 0
        self._cells[_ROUNDS] += 1

    def _open(self, place: int) -> int:
        # A connection into that place: 0, or -errno, and then the descriptor there is -1 if there was none to be had.
        fd = libc.open_socket(_AF_INET, _SOCK_STREAM, 0)
        self._fds[place] = fd
        if fd < 0:
            self._fail(_SOCKET, fd)
            return fd
        code = self._connect(fd, place)
        if code < 0:
            self._fail(_CONNECT, code)
            libc.close(fd)
        return code

    def _receive(self, place: int) -> bool:
        # False if the connection broke. One that the server closed without a word is kept all the same.
        received = libc.receive(self._fds[place], self._buffer, 0, self._size, 0)
        if received > 0:
            self._cells[_CONNECTIONS] += 1
        else:
            self._fail(_RECEIVE, received)
        return received >= 0

    def _close(self, place: int) -> None:
        libc.shutdown(self._fds[place], _SHUT_RDWR)
        libc.close(self._fds[place])

    def _connect(self, fd: int, place: int) -> int:
        return libc.connect(fd, self._address, 0, _ADDRESS_SIZE)


class ChoosingClient(Client):
    """A client that takes its ports from ``lane``; when that has none, or none is accepted, the kernel chooses."""

    def __init__(self, address: bytes, size: int, lane: Lane, cells: Cells) -> None:
        super().__init__(address, size, cells)
        self._chooser = PortChooser(lane)
        self._ports = array("i", bytes(4 * _MOST_SOCKETS))

    def _connect(self, fd: int, place: int) -> int:
        code = self._chooser.connect(0, fd, self._address, 0, _ADDRESS_SIZE)
        self._ports[place] = self._chooser.port
        self._cells[_KERNEL_CHOICES] = self._chooser.kernel_choices
        self._cells[_REFUSED_PORTS] = self._chooser.refused_ports
        return code

    def _close(self, place: int) -> None:
        Client._close(self, place)
        if self._ports[place]:
            # The server closes first, so no port of ours waits; if the last of a round does now and then, that costs a
            # refused try.
            self._chooser.release(0, self._ports[place], _FREED)
