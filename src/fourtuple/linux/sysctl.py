"""Kernel settings as the calling thread's network namespace has them.

``/proc/sys/net`` shows every thread the settings of its own network namespace, so each function
here speaks of the namespace of the thread that calls it. Names are those of sysctl(8):
``net.ipv4.tcp_tw_reuse``; a dot inside an interface name is written as a slash
(``net.ipv4.conf.eth0/100.forwarding``).
"""

from __future__ import annotations

import errno
import os
from typing import Final, NamedTuple

from fourtuple.errors import Unsupported

# Bytes of a bitmap with one bit for each of the 65536 ports.
_BITMAP_SIZE: Final = 8192
# The longest list of ports is "1-2,4-5,...": 21845 ranges of at most 12 characters, 262 kB.
_LONGEST: Final = 1 << 19
_USUAL: Final = 1 << 12
_SEPARATORS: Final = str.maketrans("./", "/.")


class PortRange(NamedTuple):
    """A range of ports, both ends included."""

    low: int
    high: int

    @property
    def size(self) -> int:
        """How many ports the range has."""
        return self.high - self.low + 1


def exists(name: str) -> bool:
    """Return whether this kernel has the setting."""
    return os.path.exists(_path(name))


def read(name: str) -> str:
    """Return the value of a setting, without the newline.

    Raises ``Unsupported`` (``ENOENT``) if this kernel has no such setting, and ``PermissionError``.
    """
    # One read from the start, with room for everything: the kernel prints a list of ports for reads
    # at offset 0 alone, cuts it at the size of the buffer, and returns nothing at later offsets.
    # Buffered files, which read 8 KiB at a time, lose the rest without an error. A large buffer is
    # costly (the kernel zeroes one as large), so it is used only for what fills a small one.
    fd = _open(name, os.O_RDONLY)
    try:
        value = os.pread(fd, _USUAL, 0)
        if len(value) == _USUAL:
            value = os.pread(fd, _LONGEST, 0)
        return value.decode("ascii").rstrip("\n")
    finally:
        os.close(fd)


def write(name: str, value: str | int) -> None:
    """Change a setting.

    Raises ``Unsupported`` (``ENOENT``) if this kernel has no such setting, and ``OSError`` that
    quotes setting and value if the kernel refuses the value.
    """
    # The kernel takes at most a page of a list of ports at a time and says how much; what follows
    # at a later offset is added to it. An empty list is a lone newline: writing nothing changes
    # nothing.
    left = f"{value}\n".encode("ascii")
    fd = _open(name, os.O_WRONLY)
    try:
        while left:
            left = left[os.write(fd, left) :]
    except OSError as error:
        raise OSError(error.errno, f"the kernel refused sysctl {name} = {value} ({error.strerror})") from error
    finally:
        os.close(fd)


def local_port_range() -> PortRange:
    """Return ``net.ipv4.ip_local_port_range``: the ports connect() chooses from, IPv6 included."""
    low, high = read("net.ipv4.ip_local_port_range").split()
    return PortRange(int(low), int(high))


def reserved_ports() -> bytes:
    """Return the ports that connect() never chooses, as a bitmap of 8192 bytes.

    Port ``p`` is bit ``p & 7`` of byte ``p >> 3``. The source is
    ``net.ipv4.ip_local_reserved_ports``, whole, however long its list is.
    """
    return parse_ports(read("net.ipv4.ip_local_reserved_ports"))


def parse_ports(text: str) -> bytes:
    """Turn a list such as ``8080,9000-9010`` into a bitmap like that of `reserved_ports`.

    Raises ``ValueError`` if ``text`` is no list of ports.
    """
    bitmap = bytearray(_BITMAP_SIZE)
    for item in text.split(",") if text.strip() else ():
        first, _, last = item.partition("-")
        low, high = int(first), int(last or first)
        if not 0 <= low <= high <= 65535:
            raise ValueError(f"text: {item!r} is no range of ports between 0 and 65535")
        for port in range(low, high + 1):
            bitmap[port >> 3] |= 1 << (port & 7)
    return bytes(bitmap)


def count_ports(bitmap: bytes, within: PortRange) -> int:
    """Return how many ports of ``within`` are set in a bitmap like that of `reserved_ports`."""
    bits = int.from_bytes(bitmap, "little") >> within.low
    return (bits & ((1 << within.size) - 1)).bit_count()


def count_usable_ports() -> int:
    """Return the size of the local port range less its reserved ports."""
    ports = local_port_range()
    return ports.size - count_ports(reserved_ports(), ports)


def tcp_tw_reuse() -> int:
    """Return ``net.ipv4.tcp_tw_reuse``.

    It says when connect() may take over a four-tuple in TIME_WAIT: 0 never, 1 always, 2 only on
    loopback.
    """
    return int(read("net.ipv4.tcp_tw_reuse"))


def tcp_tw_reuse_delay() -> float | None:
    """Return ``net.ipv4.tcp_tw_reuse_delay`` in seconds: TIME_WAIT must have lasted so long.

    None if this kernel has no such setting. Those kernels (before Linux 6.14) wait for more than a
    whole second.
    """
    name = "net.ipv4.tcp_tw_reuse_delay"
    return int(read(name)) / 1000 if exists(name) else None


def tcp_timestamps() -> int:
    """Return ``net.ipv4.tcp_timestamps``: 0 off, 1 on with random offsets, 2 on without them.

    Without timestamps no four-tuple in TIME_WAIT is ever reused early.
    """
    return int(read("net.ipv4.tcp_timestamps"))


def _path(name: str) -> str:
    return "/proc/sys/" + name.translate(_SEPARATORS)


def _open(name: str, mode: int) -> int:
    try:
        return os.open(_path(name), mode | os.O_CLOEXEC)
    except FileNotFoundError:
        raise Unsupported(
            errno.ENOENT, f"sysctl {name}", "check its spelling, or do without it on this kernel"
        ) from None
