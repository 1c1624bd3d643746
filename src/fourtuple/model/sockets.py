"""A socket as a program sees it, and the errors that a program gets."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
from typing import Final, TypeAlias

from . import layout
from .addresses import Address, Addresses, parsed, reached
from .machine import Machine
from .trace import Step, Trace

SockAddress: TypeAlias = tuple[str, int] | tuple[str, int, int, int]

_IP_FREEBIND: Final = 15
_IP_BIND_ADDRESS_NO_PORT: Final = 24
_IP_LOCAL_PORT_RANGE: Final = 51
_LINGER: Final = struct.Struct("ii")
_CONNECTED: Final = (layout.ESTABLISHED, layout.CLOSE_WAIT)

_FLAGS: Final = {
    (socket.SOL_SOCKET, socket.SO_REUSEADDR): layout.REUSE,
    (socket.SOL_SOCKET, socket.SO_REUSEPORT): layout.REUSEPORT,
    (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY): layout.ONLY_SIX,
}


class Socket:
    """A TCP socket of a model kernel, made by ``Kernel.socket``.

    Errors are OSError with the kernel's errno; an operation on a closed socket raises ValueError, which names it.
    ``trace`` and ``steps`` tell what the last operation did.
    """

    def __init__(self, machine: Machine, family: int, *, netns: int, device: int, l3mdev: int) -> None:
        self.trace = Trace()
        self.steps: tuple[Step, ...] = ()
        self.family = family
        self._machine = machine
        self._any = Addresses.ANY_FOUR if family == socket.AF_INET else Addresses.ANY_SIX
        self._open = True
        self._no_port = False
        self._free_bind = False
        self._reset_on_close = False
        self._local_range = (0, 0)
        self._bound_address = False
        self._timer = 0
        machine.begin()
        self._record = machine.tables.make()
        self._write(layout.STATE, layout.CLOSED)
        self._write(layout.LOCAL, self._any)
        self._write(layout.NETNS, netns)
        self._write(layout.DEVICE, device)
        self._write(layout.MASTER, l3mdev)

    @property
    def record(self) -> int:
        """The number of its record in the machine's tables."""
        return self._record

    @property
    def route(self) -> tuple[int, ...] | None:
        """What connect() searches a port for, if it chose the port and the connection stands; else None."""
        if self._read(layout.STATE) != layout.ESTABLISHED or not self._read(layout.FLAGS) & layout.CONNECT_BOUND:
            return None
        fields = (layout.LOCAL, layout.REMOTE, layout.REMOTE_PORT, layout.NETNS, layout.DEVICE, layout.MASTER)
        return (*map(self._read, fields), *self._local_range)

    def setsockopt(self, level: int, name: int, value: int | bytes) -> None:
        """Set an option: SO_REUSEADDR, SO_REUSEPORT, SO_LINGER, IPV6_V6ONLY and, of SOL_IP, IP_FREEBIND,
        IP_BIND_ADDRESS_NO_PORT and IP_LOCAL_PORT_RANGE. Others raise OSError (``ENOPROTOOPT``).
        """
        self._begin("setsockopt")
        flag = _FLAGS.get((level, name))
        if flag is not None:
            if flag == layout.ONLY_SIX and (self.family != socket.AF_INET6 or self._read(layout.OWNED)):
                raise _error(errno.EINVAL if self.family == socket.AF_INET6 else errno.ENOPROTOOPT)
            flags = self._read(layout.FLAGS) & ~flag
            self._write(layout.FLAGS, flags | flag if _number(value) else flags)
        elif (level, name) == (socket.SOL_SOCKET, socket.SO_LINGER):
            if not isinstance(value, bytes) or len(value) < _LINGER.size:
                raise _error(errno.EINVAL)
            on, seconds = _LINGER.unpack_from(value)
            self._reset_on_close = bool(on) and seconds == 0
        elif (level, name) == (socket.SOL_IP, _IP_FREEBIND):
            self._free_bind = bool(_number(value))
        elif (level, name) == (socket.SOL_IP, _IP_BIND_ADDRESS_NO_PORT):
            self._no_port = bool(_number(value))
        elif (level, name) == (socket.SOL_IP, _IP_LOCAL_PORT_RANGE) and self._machine.features.local_range:
            both = _number(value)
            low, high = both & 0xFFFF, both >> 16 & 0xFFFF
            if low and high and low > high:
                raise _error(errno.EINVAL)
            self._local_range = (low, high)
        else:
            raise _error(errno.ENOPROTOOPT)

    def bind(self, address: SockAddress) -> None:
        """Take an address and a port; port 0 for any, or with IP_BIND_ADDRESS_NO_PORT for none yet."""
        self._begin("bind")
        port = address[1]
        number = self._local_number(address[0])
        if self._read(layout.STATE) != layout.CLOSED or self._read(layout.OWNED):
            raise _error(errno.EINVAL)
        flags = self._read(layout.FLAGS)
        self._write(layout.LOCAL, number)
        # bind() to an IPv6 address, wildcard aside, makes a socket one of IPv6 only.
        if number != Addresses.ANY_SIX and not self._machine.tables.is_four(number):
            self._write(layout.FLAGS, flags | layout.ONLY_SIX)
        if port or not self._no_port:
            try:
                self._take(port)
            except OSError:
                self._write(layout.LOCAL, self._any)
                self._write(layout.FLAGS, flags)
                raise
        self._bound_address = number not in (Addresses.ANY_FOUR, Addresses.ANY_SIX)
        self._end()

    def listen(self, backlog: int = 128) -> None:
        """Accept connections, from a port of the kernel's choice if none is bound. ``backlog`` has no effect here."""
        self._begin("listen")
        state = self._read(layout.STATE)
        if state in _CONNECTED:
            raise _error(errno.EINVAL)
        self._write(layout.STATE, layout.LISTEN)
        try:
            if state != layout.LISTEN:
                self._take(self._read(layout.LOCAL_PORT))
        except OSError:
            self._write(layout.STATE, state)
            raise
        finally:
            self._end()

    def connect(self, address: SockAddress) -> None:
        """Connect, as over a network whose every port listens. Raises OSError.

        ``EADDRNOTAVAIL``: no port is left, or the bound one makes a four-tuple that somebody has. ``ENETUNREACH``: the
        kernel has no address to connect from. ``EISCONN``: it is connected, or listens.
        """
        self._begin("connect")
        if self._read(layout.STATE) != layout.CLOSED:
            raise _error(errno.EISCONN)
        remote = reached(self._destination(address[0]))
        before = self._read(layout.LOCAL)
        if not self._bound_address:
            self._move(self._machine.addresses.number(self._machine.addresses.source(remote)))
        elif self._machine.addresses.of(before).version != remote.version:
            raise _error(errno.ENETUNREACH)
        self._write(layout.REMOTE, self._machine.addresses.number(remote))
        self._write(layout.REMOTE_PORT, address[1])
        try:
            self._machine.connect(self._record, self._local_range)
        except OSError:
            self._write(layout.REMOTE_PORT, 0)
            self._move(before)
            raise
        finally:
            self._end()

    def getsockname(self) -> SockAddress:
        """The address and port of this end."""
        self._check_open("getsockname")
        return self._spelled(self._read(layout.LOCAL), self._read(layout.LOCAL_PORT))

    def getpeername(self) -> SockAddress:
        """The address and port of the other end. Raises OSError (``ENOTCONN``)."""
        self._check_open("getpeername")
        if self._read(layout.STATE) not in _CONNECTED:
            raise _error(errno.ENOTCONN)
        return self._spelled(self._read(layout.REMOTE), self._read(layout.REMOTE_PORT))

    def close(self) -> None:
        """Close. The end of a connection that closes first is kept: in FIN_WAIT2, then TIME_WAIT."""
        if self._reset_on_close:
            self.reset()
            return
        if not self._open:
            return
        self._machine.begin()
        self._open = False
        if self._read(layout.STATE) == layout.ESTABLISHED:
            self._timer = self._machine.finish(self._record)
        else:
            self._machine.end(self._record)
        self._end()

    def reset(self) -> None:
        """Close as with SO_LINGER of 0 seconds: nothing is left."""
        if not self._open:
            return
        self._machine.begin()
        self._open = False
        self._machine.end(self._record)
        self._end()

    def close_peer(self) -> None:
        """The other end sends its FIN. Raises ValueError if there never was one."""
        if not self._open:
            if not self._timer:
                raise ValueError("close_peer: this socket left no connection behind")
            self._machine.begin()
            self._timer = self._machine.finish_peer(self._record, self._timer)
            self._end()
            return
        if self._read(layout.STATE) not in _CONNECTED:
            raise ValueError("close_peer: this socket is not connected")
        self._write(layout.STATE, layout.CLOSE_WAIT)

    def _take(self, port: int) -> None:
        machine = self._machine
        if port:
            done = machine.binding.take(self._record, port)
        else:
            done = machine.binding.take_any(self._record, *machine.port_range(self._local_range)) != 0
        if not done:
            self._end()
            raise _error(errno.EADDRINUSE)

    def _move(self, number: int) -> None:
        if self._read(layout.LOCAL) == number:
            return
        if self._read(layout.OWNED):
            self._machine.buckets.move(self._record, number)
        else:
            self._write(layout.LOCAL, number)

    def _local_number(self, host: str) -> int:
        # The wildcard of either family stands for itself, so it is told apart before mapped addresses become IPv4.
        if self.family == socket.AF_INET6 and host in ("", "::"):
            return Addresses.ANY_SIX
        address = self._of_family(host)
        if not self._free_bind and not self._machine.addresses.is_own(address):
            raise _error(errno.EADDRNOTAVAIL)
        if self._only_six() and address.version == 4:
            raise _error(errno.EINVAL)
        return self._machine.addresses.number(address)

    def _destination(self, host: str) -> Address:
        address = self._of_family(host)
        if self._only_six() and address.version == 4:
            raise _error(errno.ENETUNREACH)
        return address

    def _only_six(self) -> bool:
        return self._read(layout.FLAGS) & layout.ONLY_SIX != 0

    def _of_family(self, host: str) -> Address:
        if self.family == socket.AF_INET6 and not host:
            return ipaddress.IPv6Address("::")
        if (":" in host) != (self.family == socket.AF_INET6):
            raise _error(errno.EAFNOSUPPORT)
        return parsed(host)

    def _spelled(self, number: int, port: int) -> SockAddress:
        address = self._machine.addresses.of(number)
        if self.family == socket.AF_INET:
            return str(address), port
        return (f"::ffff:{address}" if address.version == 4 else str(address)), port, 0, 0

    def _begin(self, operation: str) -> None:
        self._check_open(operation)
        self._machine.begin()

    def _end(self) -> None:
        self.trace = self._machine.trace()
        self.steps = self._machine.steps()

    def _check_open(self, operation: str) -> None:
        if not self._open:
            raise ValueError(f"{operation}: this socket is closed")

    def _read(self, field: int) -> int:
        return self._machine.tables.read(self._record, field)

    def _write(self, field: int, value: int) -> None:
        self._machine.tables.write(self._record, field, value)


def _number(value: int | bytes) -> int:
    return value if isinstance(value, int) else int.from_bytes(value[:4], "little")


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
