"""The server's side of the control connections.

Connections are served side by side: one that says nothing, or half of a HELLO, keeps nobody else waiting and is closed
after a time. A client is one whose HELLO has the secret of the program; when there are as many as were asked for, no
other is let in, and when all of these have said DONE, or have gone, the run is over.
"""

from __future__ import annotations

import logging
import selectors
import socket
import time
from collections.abc import Callable
from typing import Final

from .wire import SIZE, BadMessage, Inbox, Kind, Message, expect

HELLO_WITHIN: Final = 10.0
"""Seconds until a connection must have said HELLO."""

_DEAF_FOR: Final = 1.0  # seconds without a look at new connections after one could not be accepted
_BYE_WITHIN: Final = 5.0  # seconds until a client must have room for 72 bytes
# A client whose machine has gone says nothing: noticed after 10 s and 3 probes, 5 s apart.
_KEEPALIVE: Final = ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))

_log = logging.getLogger(__name__)


class _Connection:
    # A control connection: a stranger, then a client, then a client that has finished.
    def __init__(self, sock: socket.socket, peer: str, deadline: float) -> None:
        self.sock = sock
        self.peer = peer
        self.deadline = deadline
        self.inbox = Inbox()
        self.finished = False
        self.rate = 0


class ControlServer:
    """Listens on ``listener`` for ``clients`` clients with that secret; ``ack`` is the answer to their HELLO.

    ``report`` is told, in words, of each client that goes without DONE and of each connection that comes to nothing.
    ``invalid_secrets`` counts connections that said anything but a HELLO with the secret, or ended before it.
    """

    def __init__(
        self, listener: socket.socket, secret: bytes, ack: Message, *, clients: int, report: Callable[[str], None]
    ) -> None:
        self.invalid_secrets = 0
        self._listener = listener
        self._secret = secret
        self._ack = ack
        self._wanted = clients
        self._report = report
        self._strangers: list[_Connection] = []
        self._clients: list[_Connection] = []
        self._deaf_until = 0.0
        self._selector = selectors.EpollSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)

    def fileno(self) -> int:
        """Readable when ``look`` has something to do."""
        return self._selector.fileno()

    @property
    def joined(self) -> int:
        """Clients so far."""
        return len(self._clients)

    @property
    def over(self) -> bool:
        """Whether all clients that were asked for have come and have finished."""
        return len(self._clients) >= self._wanted and all(client.finished for client in self._clients)

    @property
    def remote_rate(self) -> int:
        """The rate that the last client in order of arrival told, 0 if it told none."""
        return self._clients[-1].rate if self._clients else 0

    @property
    def patience(self) -> float:
        """Seconds until ``look`` must be called though nothing is readable."""
        deadlines = [stranger.deadline for stranger in self._strangers]
        if self._deaf_until:
            deadlines.append(self._deaf_until)
        return min(deadlines, default=float("inf")) - time.monotonic()

    def look(self) -> None:
        """Do what can be done without waiting."""
        for key, _ in self._selector.select(0):
            # What came before in this round may have closed it.
            if self._listener.fileno() == key.fd:
                self._accept()
            elif isinstance(key.data, _Connection) and key.data.sock.fileno() == key.fd:
                self._read(key.data)
        now = time.monotonic()
        for stranger in [one for one in self._strangers if one.deadline <= now]:
            self._report(f"{stranger.peer} connected to the control port and said no HELLO within {HELLO_WITHIN:.0f} s")
            self._dismiss(stranger)
        if self._deaf_until and self._deaf_until <= now:
            self._deaf_until = 0.0
            self._selector.register(self._listener, selectors.EVENT_READ)

    def say_bye(self, rate: int) -> None:
        """Send BYE with the server's rate to all clients; one that has gone is reported."""
        message = Message(Kind.BYE, self._ack.magic, rate=rate).pack()
        for client in self._clients:
            try:
                client.sock.settimeout(_BYE_WITHIN)
                client.sock.sendall(message)
            except OSError as error:
                self._report(f"client {client.peer} cannot be told BYE ({error.strerror or error})")

    def close(self) -> None:
        """End all connections."""
        for connection in [*self._strangers, *self._clients]:
            connection.sock.close()
        self._selector.close()
        self._listener.close()

    def _accept(self) -> None:
        try:
            sock, address = self._listener.accept()
        except OSError as error:
            # No descriptor is left, mostly: the listener stays readable, and looking again at once would be in vain.
            self._report(f"the control port cannot accept a connection ({error.strerror})")
            self._selector.unregister(self._listener)
            self._deaf_until = time.monotonic() + _DEAF_FOR
            return
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            sock.setsockopt(socket.IPPROTO_TCP, name, value)
        stranger = _Connection(sock, f"[{address[0]}]:{address[1]}", time.monotonic() + HELLO_WITHIN)
        self._strangers.append(stranger)
        self._selector.register(sock, selectors.EVENT_READ, stranger)

    def _read(self, connection: _Connection) -> None:
        # ``end`` says how the connection ended, "" while it goes on.
        try:
            data = connection.sock.recv(4 * SIZE)
            end = "" if data else "it closed the control connection"
        except OSError as error:
            data = b""
            end = error.strerror or str(error)
        connection.inbox.add(data)
        if connection in self._clients:
            self._hear_client(connection, end)
            return
        try:
            self._hear_stranger(connection, end)
        except BadMessage as error:
            self.invalid_secrets += 1
            _log.info("invalid secret from %s: %s", connection.peer, error)
            self._dismiss(connection)

    def _hear_stranger(self, stranger: _Connection, end: str) -> None:
        message = stranger.inbox.next()
        if message is None:
            if end:
                raise BadMessage(f"{stranger.inbox.left} bytes of a HELLO, and then {end}")
            return
        # The magic is not looked at: neper's server does not look at it either.
        expect(message, Kind.HELLO, message.magic)
        if message.secret != self._secret:
            raise BadMessage(f"the secret is {message.secret!r}, that of another program")
        _log.info("%s from %s", message, stranger.peer)
        self._strangers.remove(stranger)
        self._clients.append(stranger)
        if len(self._clients) >= self._wanted:
            self._close_doors()
        try:
            stranger.sock.sendall(self._ack.pack())
        except OSError as error:
            end = error.strerror or str(error)
        # DONE may have come along.
        self._hear_client(stranger, end)

    def _hear_client(self, client: _Connection, end: str) -> None:
        try:
            message = client.inbox.next()
            if message is not None:
                client.rate = expect(message, Kind.DONE, self._ack.magic).rate
                _log.info("%s from %s", message, client.peer)
            elif end:
                raise BadMessage(end)
            else:
                return
        except BadMessage as error:
            # As with neper, a client that goes is one that has finished.
            self._report(f"client {client.peer} went without DONE ({error})")
        client.finished = True
        self._selector.unregister(client.sock)

    def _close_doors(self) -> None:
        if not self._deaf_until:
            self._selector.unregister(self._listener)
        self._deaf_until = 0.0
        self._listener.close()
        for stranger in list(self._strangers):
            self._dismiss(stranger)

    def _dismiss(self, stranger: _Connection) -> None:
        self._strangers.remove(stranger)
        self._selector.unregister(stranger.sock)
        stranger.sock.close()
