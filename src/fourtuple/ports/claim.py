"""The port side of one socket: how it comes by its source port, and how the port is given back.

A claim works on any TCP socket object, through the plain methods of ``socket.socket``; the socket classes delegate to
it. A connection's way: resolve, choose the source, take, impose, connect, verify with getsockname(); later release.
"""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

from fourtuple.errors import NoSuchLocalAddress, PortsExhausted
from fourtuple.linux import libc, tcp_info
from fourtuple.linux.sockopt import set_bind_address_no_port, set_freebind

from . import closing, endpoints
from .registry import routed_source
from .space import How, Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from .registry import Destination, SpaceRegistry
    from .shared import Lease, SharedSpace
    from .sources import Sources

# The methods of socket.socket itself, whatever the class of the socket overrides.
_connect = socket.socket.connect
_getsockname = socket.socket.getsockname
_family_of = socket.SocketType.family.__get__
# The plain number: making the enum that socket.socket.family is costs more than all else before connect().


class Claim:
    """What one socket has to do with port spaces: ``registry`` has the spaces, ``sources`` the source addresses.

    ``lease`` is the port to give back, None while there is none.
    """

    def __init__(self, registry: SpaceRegistry, sources: Sources) -> None:
        self.registry = registry
        self._sources = sources
        self._address_bound = False  # by the program
        self._own_port = False  # the program bound or connected the socket itself
        self.lease: Lease | None = None
        self._sent_fin_first = False
        self._detached = False
        self._options: dict[tuple[Any, Any], tuple[Any, ...]] | None = {} if registry.imposer.renews else None

    def bind(self, sock: socket.socket, address: Any) -> None:
        """bind() for the program: with port 0 it fixes the address only, and the port stays ours to choose."""
        if _names_port_0(address):
            set_bind_address_no_port(sock)
        socket.socket.bind(sock, address)
        self.note_binding(sock)

    def note_binding(self, sock: socket.socket) -> None:
        """Read what the program, or an owner of the descriptor before it, bound the socket to."""
        host, port, *rest = _getsockname(sock)
        scope_id = rest[1] if rest else 0
        source = endpoints.canonical(f"{host}%{scope_id}" if scope_id else host)
        self._own_port = port != 0
        if not endpoints.is_unspecified(source):
            self._address_bound = True
            self._sources = self.registry.sources_for(source)

    def note_option(self, option: tuple[Any, ...]) -> None:
        """Remember the arguments of a setsockopt(), in case the descriptor has to be renewed."""
        if self._options is not None:
            self._options[option[0], option[1]] = option

    def note_shutdown(self, sock: socket.socket) -> None:
        """Before the program sends FIN: note whether it is the first to."""
        if self.lease is not None and closing.keeps_time_wait(tcp_info.read(sock).state, sent_fin_first=False):
            self._sent_fin_first = True

    def note_duplicate(self) -> None:
        """Another descriptor shares the connection: closing this one will not end it."""
        self._detached = True

    def connect(self, sock: socket.socket, address: Any) -> None:
        """connect() from a port of ours, or the plain one where there is nothing to choose.

        Raises what connect() raises, PortsExhausted, and NoSuchLocalAddress.
        """
        if self._own_port or self.lease is not None:
            self._connect_again(sock, address)
            return
        destination = self._destination(sock, address)
        if destination is None:
            self._connect_outside(sock, address)
        elif len(destination.spaces) == 1:
            source, space = destination.sources[0], destination.spaces[0]
            if not self._propose(sock, destination, source, space):
                self._leave_to_kernel(sock, destination, source, space)
        else:
            self._connect_from_any(sock, destination)

    def close(self, sock: socket.socket, plain_close: Callable[[socket.socket], None]) -> None:
        """Close the socket and give the port back, unless a file object still keeps the connection open."""
        if self.lease is None:
            plain_close(sock)
            return
        how = self._how(sock)
        try:
            plain_close(sock)
        finally:
            if sock.fileno() < 0:
                self._end(how)

    def detach(self) -> None:
        """The descriptor goes out of sight: the port is somebody else's from here on."""
        if self.lease is not None:
            self._end(How.DETACHED)

    # Finding the spaces.

    def _destination(self, sock: socket.socket, address: Any) -> Destination | None:
        # None where the plain connect() finds better words for what is wrong with the address.
        try:
            return self.registry.destination(_family_of(sock), address, self._sources)
        except (TypeError, ValueError, IndexError):
            return None
        except (NoSuchLocalAddress, socket.gaierror):
            raise
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise NoSuchLocalAddress(None, endpoints.text(*address[:2])) from error
            return None

    # Connecting.

    def _connect_again(self, sock: socket.socket, address: Any) -> None:
        try:
            _connect(sock, address)
        except OSError:
            if self.lease is not None and tcp_info.read(sock).state is tcp_info.TcpState.CLOSE:
                # A non-blocking connect() failed since, which is told now, or the connection is over.
                self._end(self._how(sock))
                self._make_ready(sock)
            raise

    def _connect_outside(self, sock: socket.socket, address: Any) -> None:
        # No space could be made: the kernel chooses, and the socket keeps what it chose.
        try:
            _connect(sock, address)
        except OSError as error:
            self._own_port = _under_way(error)
            raise
        finally:
            self.registry.note_kernel_choice()
        self._own_port = True

    def _connect_from_any(self, sock: socket.socket, destination: Destination) -> None:
        # Every source is asked for a free port before the kernel searches for any.
        choices = destination.by_emptiness()
        refusals: list[PortsExhausted] = []
        for attempt in (self._propose, self._leave_to_kernel):
            for source, space in choices:
                try:
                    if attempt(sock, destination, source, space):
                        return
                except PortsExhausted as exhausted:
                    refusals.append(exhausted)
        first, *others = refusals
        for other in others:
            first.add_note(f"nor {other.strerror}")
        raise first

    def _propose(self, sock: socket.socket, destination: Destination, source: str, space: SharedSpace) -> bool:
        # True: connected, from a port of the space. False: it has none that the kernel takes.
        self._bind_source(sock, source, space)
        tries: int = self.registry.tries
        for attempt in range(tries):
            lease = space.take()
            if lease is None:
                return False
            if self._try(sock, destination, source, space, lease):
                return True
            if attempt == 0 and not source:
                self._check_route(destination, space)
        return False

    def _bind_source(self, sock: socket.socket, source: str, space: SharedSpace) -> None:
        if not source or self._address_bound:
            return
        set_bind_address_no_port(sock)
        if self._sources.freebind:
            set_freebind(sock)
        try:
            socket.socket.bind(sock, endpoints.to_bind(sock.family, source, 0))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise NoSuchLocalAddress(source, space.destination) from error
            raise

    def _try(
        self,
        sock: socket.socket,
        destination: Destination,
        source: str,
        space: SharedSpace,
        lease: Lease,
    ) -> bool:
        # True: connected. False: the kernel refused the port. Any other outcome is raised.
        imposer = self.registry.imposer
        fd = sock.fileno()
        self.lease = lease
        try:
            refusal = imposer.impose(sock, fd, source, lease.port)
            if refusal is not None:
                self._reject(refusal)
                return False
            _connect(sock, destination.address)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                self._reject(Reason.TAKEN)
                self._make_ready(sock)
                return False
            if _under_way(error):
                self._verify(sock, space)
            else:
                self._end(How.FREED)
                self._make_ready(sock)
            raise
        if libc.local_port(fd) != lease.port:
            self._verify(sock, space)
        return True

    def _make_ready(self, sock: socket.socket) -> None:
        self.registry.imposer.refused(sock, (self._options or {}).values())

    def _verify(self, sock: socket.socket, space: SharedSpace) -> None:
        # The kernel ignores a range outside its own, which is how a change of the sysctl shows.
        lease = self.lease
        port = _getsockname(sock)[1]
        if lease is None or port in (lease.port, 0):
            return
        self._reject(Reason.OUTSIDE)
        space.follow()
        self._adopt(space, port)

    def _leave_to_kernel(
        self,
        sock: socket.socket,
        destination: Destination,
        source: str,
        space: SharedSpace,
    ) -> bool:
        if self._try_last_resort(sock, destination, source, space):
            return True
        with space.admitted():
            self._bind_source(sock, source, space)
            self.registry.imposer.withdraw(sock, source)
            try:
                _connect(sock, destination.address)
            except OSError as error:
                if error.errno == errno.EADDRNOTAVAIL:
                    if not source:
                        self._check_route(destination, space)
                    raise space.exhausted() from error
                if _under_way(error):
                    self._adopt(space, _getsockname(sock)[1])
                raise
            self._adopt(space, _getsockname(sock)[1])
        return True

    def _try_last_resort(self, sock: socket.socket, destination: Destination, source: str, space: SharedSpace) -> bool:
        # True: connected. False: the kernel may know of a port that the space does not.
        tries = self.registry.tries
        ports = space.last_resort(tries) if tries else None
        if ports is None:
            return False
        for port in ports:
            lease = space.take_chosen(port)
            if lease is not None and self._try(sock, destination, source, space, lease):
                return True
        if not source:
            self._check_route(destination, space)
        raise space.exhausted()

    def _adopt(self, space: SharedSpace, port: int) -> None:
        self.lease = space.adopt(port)
        self._own_port = self.lease is None

    def _check_route(self, destination: Destination, space: SharedSpace) -> None:
        # EADDRNOTAVAIL has two causes. Raises NoSuchLocalAddress if it is not the port.
        try:
            routed_source(destination.family, destination.address)
        except OSError as error:
            self.registry.forget(destination)
            raise NoSuchLocalAddress(None, space.destination) from error

    # Giving back.

    def _how(self, sock: socket.socket) -> How:
        if self._detached:
            return How.DETACHED
        try:
            info = tcp_info.read(sock)
            if not closing.keeps_time_wait(info.state, sent_fin_first=self._sent_fin_first):
                return How.FREED
            # In CLOSE our TIME_WAIT has begun, and no reset ends it.
            reset = info.state is not tcp_info.TcpState.CLOSE and (
                tcp_info.resets_on_close(sock) or tcp_info.unread_bytes(sock) > 0
            )
        except (OSError, ValueError):
            # Closed behind our back, by number or by another thread.
            return How.DETACHED
        return closing.returned(reset=reset, timestamps=info.timestamps)

    def _end(self, how: How) -> None:
        lease, self.lease = self.lease, None
        if lease is not None:
            lease.release(how)

    def _reject(self, reason: Reason) -> None:
        lease, self.lease = self.lease, None
        if lease is not None:
            lease.reject(reason)


def _names_port_0(address: Any) -> bool:
    try:
        return address[1] == 0
    except (TypeError, IndexError):
        return False


def _under_way(error: OSError) -> bool:
    # The SYN is sent: a non-blocking connect, or a timeout of the socket (which has no errno).
    return isinstance(error, BlockingIOError) or (isinstance(error, TimeoutError) and error.errno is None)
