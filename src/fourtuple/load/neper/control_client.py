"""The client's side of the control connection."""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from .errors import ControlBroken, LocalAddressRefused, control_broken, local_address_refused, no_server
from .wire import SIZE, BadMessage, Inbox, Kind, Message, expect

if TYPE_CHECKING:
    from fourtuple.linux.addresses import SockAddr

    from .sockets import SocketOption
    from .stopping import Bell

PATIENCE: Final = 30.0
"""Seconds for which a client tries to reach a server: as long as neper's, which tries 31 times, a second apart."""
ACK_WITHIN: Final = 30.0
"""Seconds until the server must have answered HELLO."""
BYE_WITHIN: Final = 60.0
"""Seconds until the server must have answered DONE. A server with several clients answers when all have finished."""

_APART: Final = 0.1
# Worth another try: the server may start yet, or the path to it may come back.
_PASSING: Final = (errno.ECONNREFUSED, errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ECONNRESET)

_log = logging.getLogger(__name__)


class Interrupted(ControlBroken):
    """A signal came where there was nothing to do but wait."""


def dial(
    addresses: Sequence[tuple[int, SockAddr]],
    where: str,
    options: Sequence[SocketOption],
    sources: Sequence[tuple[int, SockAddr]],
    bell: Bell,
) -> tuple[socket.socket, int, SockAddr]:
    """Connect to the first address that answers: the socket, and the family and address that it has.

    ``where`` names the server in errors. ``options`` are set before. It comes from the first of
    ``sources``, (family, address) pairs, that is of the family.
    Raises NoServer after ``PATIENCE`` seconds, or at once for an error that does not pass, and Interrupted.
    """
    start = time.monotonic()
    failure = OSError(errno.EADDRNOTAVAIL, "no address to try")
    while True:
        for family, address in addresses:
            left = start + PATIENCE - time.monotonic()
            try:
                return _connected(family, address, options, sources, max(left, _APART)), family, address
            except LocalAddressRefused:
                raise
            except OSError as error:
                # The time-out of a socket has no number.
                failure = error if error.errno else OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
                _log.info("no control connection with %s: %s", address, failure.strerror)
        waited = time.monotonic() - start
        if waited + _APART > PATIENCE or failure.errno not in _PASSING:
            raise no_server(where, waited, failure) from failure
        bell.wait((), _APART)
        if bell.signal is not None:
            raise Interrupted(errno.EINTR, "stopped by a signal before a server was found")


def _connected(
    family: int,
    address: SockAddr,
    options: Sequence[SocketOption],
    sources: Sequence[tuple[int, SockAddr]],
    timeout: float,
) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        for option in options:
            sock.setsockopt(*option.plain)
        for _, source in [one for one in sources if one[0] == family][:1]:
            _bind(sock, source)
        sock.settimeout(timeout)
        sock.connect(address)
        sock.settimeout(None)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


def _bind(sock: socket.socket, source: SockAddr) -> None:
    try:
        sock.bind(source)
    except OSError as error:
        raise local_address_refused(str(source[0]), error) from error


class ControlClient:
    """A control connection with a server.

    ``trouble`` says what ended it before its time, "" while nothing did; ``rate`` is the server's, if it ended the run.
    """

    def __init__(self, sock: socket.socket, magic: int, bell: Bell) -> None:
        self.trouble = ""
        self.rate: int | None = None
        self._sock = sock
        self._magic = magic
        self._bell = bell
        self._inbox = Inbox()

    @property
    def over(self) -> bool:
        """Whether the server has ended the run."""
        return bool(self.trouble)

    @property
    def patience(self) -> float:
        """A client waits for nothing by the clock."""
        return float("inf")

    def fileno(self) -> int:
        """Readable when the server says something, which it does not before DONE unless it ends."""
        return self._sock.fileno()

    def start(self, hello: Message) -> Message:
        """Send HELLO and wait for ACK, which means: start. Raises ControlBroken and Interrupted."""
        self._send(hello)
        return self._receive(Kind.ACK, ACK_WITHIN, "HELLO", signals=0)

    def look(self) -> None:
        """Note why the server spoke before DONE."""
        try:
            data = self._sock.recv(SIZE, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError as error:
            self.trouble = f"the server broke the control connection ({error.strerror})"
            return
        if not data:
            self.trouble = "the server closed the control connection"
            return
        self._inbox.add(data)
        try:
            message = self._inbox.next()
            if message is None:
                # The rest of it is on its way.
                return
            self.rate = expect(message, Kind.BYE, self._magic).rate
            self.trouble = "the server ended the run"
        except BadMessage:
            self.trouble = "the server spoke out of turn"

    def finish(self, rate: int, *, signals: int) -> Message:
        """Send DONE with the client's rate and wait for BYE.

        ``signals``: how many had come when the run ended; one more ends the wait. Raises ControlBroken and Interrupted.
        """
        self._send(Message(Kind.DONE, self._magic, rate=rate))
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise control_broken(f"the control connection broke after DONE: {error.strerror}") from error
        return self._receive(Kind.BYE, BYE_WITHIN, "DONE", signals=signals)

    def close(self) -> None:
        """End the connection."""
        self._sock.close()

    def _send(self, message: Message) -> None:
        try:
            self._sock.sendall(message.pack())
        except OSError as error:
            raise control_broken(f"{message.kind.name} could not be sent to the server: {error.strerror}") from error
        _log.info("sent %s", message)

    def _receive(self, kind: Kind, within: float, after: str, *, signals: int) -> Message:
        # The message that answers ``after``.
        deadline = time.monotonic() + within
        while True:
            try:
                message = self._inbox.next()
                if message is not None:
                    _log.info("received %s", message)
                    return expect(message, kind, self._magic)
            except BadMessage as error:
                raise control_broken(f"the server's answer to {after} is wrong: {error}") from error
            if not self._bell.wait((self,), deadline - time.monotonic()):
                if time.monotonic() >= deadline:
                    raise control_broken(f"the server did not answer {after} within {within:.0f} s")
                if self._bell.signals > signals:
                    raise Interrupted(errno.EINTR, f"stopped by a signal before the server answered {after}")
                continue
            self._take(after, kind)

    def _take(self, after: str, kind: Kind) -> None:
        try:
            data = self._sock.recv(SIZE)
        except OSError as error:
            raise control_broken(f"the server broke off after {after} ({error.strerror})") from error
        if not data:
            raise control_broken(
                f"the server ended the control connection {self._inbox.left} of {SIZE} bytes into its {kind.name}: "
                f"it may have gone, be another program, or have all the clients it waits for (--num-clients)"
            )
        self._inbox.add(data)
