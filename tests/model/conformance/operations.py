"""Random sequences of operations, and what came of each: on every host the same, but for ports drawn by lot."""

from __future__ import annotations

import errno
import socket
from typing import NamedTuple

from hypothesis import strategies as st

from model.conformance.hosts import (
    BRIEF,
    LONG,
    NO_PORT,
    REUSE,
    REUSE_PORT,
    V4,
    V6,
    Address,
    Addresses,
    Host,
    Option,
    Sock,
    port_of,
    within,
)

FIRST_PORT = 20000

# IPv4 as an IPv6 socket spells it.
MAPPED = Addresses(V6.family, V6.any, f"::ffff:{V4.here}", (f"::ffff:{V4.others[0]}", f"::ffff:{V4.others[1]}"), "", "")
ONLY_SIX: Option = (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)

Outcome = int | str | None
"""The local port, the name of an error, or nothing."""


class Start(NamedTuple):
    """Open a socket, then bind, listen, connect or some of these. What fails is closed again."""

    addresses: Addresses
    options: frozenset[Option]
    bind: Address | None
    listen: bool
    connect: Address | None

    @property
    def draws(self) -> bool:
        """Whether the port, if there is one, is the kernel's choice."""
        return self.bind is None or self.bind[1] == 0

    @property
    def binds_to_a_drawn_port(self) -> bool:
        """Whether bind() draws it, or listen(), rather than connect()."""
        return self.listen or (self.bind is not None and NO_PORT not in self.options)


class Close(NamedTuple):
    """Close one of the open sockets, which are counted from the oldest and around."""

    which: int


class LeaveTimeWait(NamedTuple):
    """Close one of the open sockets and then, if it is connected, the other end."""

    which: int


class Reset(NamedTuple):
    """Close one of the open sockets with a reset."""

    which: int


class PeerCloses(NamedTuple):
    """Have the other end of one of the connections close, ours being closed or not."""

    which: int


class Configure(NamedTuple):
    """Change a setting."""

    name: str
    value: int | frozenset[int]


Operation = Start | Close | LeaveTimeWait | Reset | PeerCloses | Configure


class Player:
    """Plays operations on a host, one after the other, where TIME_WAIT is reusable at once until told otherwise."""

    def __init__(self, host: Host, size: int) -> None:
        self._host = host
        self._open: list[Sock] = []
        # Those whose other end is still open.
        self._peers: list[Sock] = []
        host.configure(ip_local_port_range=(FIRST_PORT, FIRST_PORT + size - 1), tcp_tw_reuse_delay=BRIEF)

    def play(self, operation: Operation) -> Outcome:
        """Do it, if there is a socket to do it to."""
        match operation:
            case Start():
                return self._start(operation)
            case Close(which) if self._open:
                _take(self._open, which).close()
            case LeaveTimeWait(which) if self._open:
                sock = _take(self._open, which)
                sock.close()
                if sock in self._peers:
                    self._close_peer(sock)
            case Reset(which) if self._open:
                sock = _take(self._open, which)
                sock.reset()
                if sock in self._peers:
                    self._peers.remove(sock)
            case PeerCloses(which) if self._peers:
                self._close_peer(self._peers[which % len(self._peers)])
            case Configure(name, value):
                self._host.configure(**{name: set(value) if isinstance(value, frozenset) else value})
            case _:
                pass
        return None

    def _close_peer(self, sock: Sock) -> None:
        self._peers.remove(sock)
        self._host.peer_closes(sock)
        # Beyond the brief delay, so that nothing hangs on how fast a host is.
        self._host.outlast(5 * BRIEF)

    def _start(self, start: Start) -> Outcome:
        sock = self._host.socket(start.addresses.family)
        try:
            for option in sorted(start.options):
                sock.setsockopt(*option)
            if start.bind is not None:
                sock.bind(start.bind)
            if start.listen:
                sock.listen()
            if start.connect is not None:
                sock.connect(start.connect)
                self._peers.append(sock)
        except OSError as error:
            sock.close()
            return errno.errorcode[error.errno or 0]
        self._open.append(sock)
        return port_of(sock)


def _take(socks: list[Sock], which: int) -> Sock:
    return socks.pop(which % len(socks))


def imposed(start: Start, port: int) -> Start:
    """The same with a range of its own that leaves nothing but ``port``."""
    return start._replace(options=start.options | {within(port, port)})


def _starts(addresses: Addresses, ports: list[int], ranges: list[Option]) -> st.SearchStrategy[Start]:
    def start(options: set[Option], bind: Address | None, ending: Address | str) -> Start:
        listen, connect = (ending == "listen", None) if isinstance(ending, str) else (False, ending)
        return Start(addresses, frozenset(options), bind, listen, connect)

    hosts = st.sampled_from([addresses.any, addresses.here, addresses.others[0]])
    six = [] if addresses is V4 else [ONLY_SIX]
    endings = [addresses.server] * 5 + [addresses.second_server, addresses.server_outside_loopback, "listen", "idle"]
    return st.builds(
        start,
        st.sets(st.sampled_from([REUSE, NO_PORT, REUSE_PORT, *six, *ranges]), max_size=2),
        st.none() | st.tuples(hosts, st.sampled_from([0, *ports])),
        st.sampled_from(endings),
    )


def operations(size: int, *, own_ranges: bool) -> st.SearchStrategy[list[Operation]]:
    """Sequences in a world of ``size`` ports from `FIRST_PORT` on. Sockets may have one of them for a range."""
    ports = list(range(FIRST_PORT, FIRST_PORT + size))
    ranges = [within(port, port) for port in ports] if own_ranges else []
    which = st.integers(0, 4)
    start = st.one_of(*(_starts(addresses, ports, ranges) for addresses in (V4, V6, MAPPED)))
    end = st.one_of(*(st.builds(kind, which) for kind in (Close, LeaveTimeWait, PeerCloses, Reset)))
    configure = st.one_of(
        st.builds(Configure, st.just("tcp_tw_reuse"), st.sampled_from([0, 1, 2])),
        st.builds(Configure, st.just("tcp_tw_reuse_delay"), st.sampled_from([BRIEF, LONG])),
        st.builds(Configure, st.just("tcp_timestamps"), st.sampled_from([0, 1])),
        st.builds(
            Configure, st.just("ip_local_reserved_ports"), st.frozensets(st.sampled_from(ports), max_size=size - 1)
        ),
    )
    kinds: list[st.SearchStrategy[Operation]] = [start] * 6 + [end] * 4 + [configure]
    return st.lists(st.sampled_from(kinds).flatmap(lambda kind: kind), min_size=10, max_size=40)
