"""The kernel's answer to a request for all AF_UNIX sockets (sock_diag(7)), read without the interpreter.

An answer is a run of netlink messages (netlink(7)): one for each socket, then one that says the dump is done. After the
16 bytes of ``struct nlmsghdr`` come 16 of ``struct unix_diag_msg``, then attributes: 4 bytes of length and type, data,
and padding to 4 bytes. Numbers are in the machine's byte order.
"""

from __future__ import annotations

import errno
import socket
import struct
from array import array
from typing import Final

SIZE: Final = 16384
"""Bytes received at once, as many as stress-ng asks for."""

MORE: Final = 0
"""`DumpReader.read` wants to read on."""
DONE: Final = 1
"""`DumpReader.read` met the end of the dump."""

_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 0x1
_NLM_F_DUMP = 0x300
_UDIAG_SHOW_NAME = 0x1

REQUEST: Final = struct.pack(
    "=IHHII" + "BBHIIIII",
    *(40, _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST | _NLM_F_DUMP, 0, 0),
    *(socket.AF_UNIX, 0, 0, 0xFFFFFFFF, 0, _UDIAG_SHOW_NAME, 0, 0),
)
"""The request: a ``struct nlmsghdr`` and a ``struct unix_diag_req``, for sockets in every state, with their names."""

_MORE = MORE
_END = DONE
_HEADER = 16
_SOCKET = 16
_ATTRIBUTE = 4
_ERROR = 2
_DONE = 3
_BAD = -errno.EBADMSG


class DumpReader:
    """Reads what was received into ``buffer``, and counts ``sockets`` and their ``attributes``."""

    def __init__(self) -> None:
        self.buffer = array("B", bytes(SIZE))
        self.sockets = 0
        self.attributes = 0
        self._words = memoryview(self.buffer).cast("i")
        self._halves = memoryview(self.buffer).cast("H")

    def read(self, size: int) -> int:
        """Read the first ``size`` bytes: ``MORE`` or ``DONE``, or the kernel's -errno.

        -EBADMSG for a message that does not fit, or is none of a dump's.
        """
        place = 0
        while size - place >= _HEADER:
            length = self._words[place >> 2]
            kind = self._halves[(place >> 1) + 2]
            if length > size - place:
                return _BAD
            if kind == _DONE or kind == _ERROR:
                # Both bring the number of an error, 0 for none.
                if length < _HEADER + 4:
                    return _BAD
                code = self._words[(place + _HEADER) >> 2]
                return code if code < 0 else _END
            if kind != _SOCK_DIAG_BY_FAMILY or length < _HEADER + _SOCKET:
                return _BAD
            self.sockets += 1
            self._count(place + _HEADER + _SOCKET, place + length)
            place += (length + 3) & ~3
        return _MORE

    def _count(self, place: int, end: int) -> None:
        # The attributes from ``place`` on.
        while end - place >= _ATTRIBUTE:
            length = self._halves[place >> 1]
            if length < _ATTRIBUTE or length > end - place:
                return
            self.attributes += 1
            place += (length + 3) & ~3
