"""What can end a run: each an ``OSError`` with an errno, whose text says what to do."""

from __future__ import annotations

import errno
import os

from fourtuple.errors import FourtupleError


class RunFailed(FourtupleError, OSError):
    """Base of these errors."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)

    def __reduce__(self) -> tuple[type[RunFailed], tuple[int, str]]:
        return type(self), (self.errno or 0, self.strerror or "")


class NoServer(RunFailed):
    """No server took the control connection."""


class ControlBroken(RunFailed):
    """The other side ended the control connection, was silent for too long, or said what was not due."""


class PortInUse(RunFailed):
    """Another program listens on a port that the server needs."""


class OptionRefused(RunFailed):
    """The kernel refused a socket option that a flag asks for."""


class FilesExhausted(RunFailed):
    """The flows need more descriptors than this process may have."""


class LocalAddressRefused(RunFailed):
    """An address of --local-hosts is none that this machine can connect from."""


class FileRefused(RunFailed):
    """A file that a flag names cannot be written."""


def local_address_refused(host: str, error: OSError) -> LocalAddressRefused:
    """The kernel let no socket have the address ``host``."""
    return LocalAddressRefused(
        error.errno or errno.EADDRNOTAVAIL,
        f"--local-hosts {host}: {error.strerror}; ip address shows the addresses of this machine, and --freebind "
        f"allows others",
    )


def file_refused(flag: str, path: str, error: OSError) -> FileRefused:
    """The file ``path``, which ``flag`` names, cannot be opened for writing."""
    return FileRefused(
        error.errno or errno.EIO,
        f"{flag} {path}: {error.strerror}; name a file in a directory that is there and that this user may write to",
    )


def no_server(where: str, waited: float, error: OSError) -> NoServer:
    """Nobody answered at ``where`` (host and control port) for ``waited`` seconds."""
    code = error.errno or errno.ECONNREFUSED
    return NoServer(
        code,
        f"no server at {where} ({os.strerror(code)}, for {waited:.0f} s): start the same program there without -c, and "
        f"check --host and --control-port",
    )


def control_broken(text: str) -> ControlBroken:
    """The control connection did not go as the protocol has it."""
    return ControlBroken(errno.EPROTO, text)


def port_in_use(flag: str, host: str, port: int) -> PortInUse:
    """``flag`` names the port."""
    return PortInUse(
        errno.EADDRINUSE,
        f"{flag} {port}: another program listens there (on {host or 'any address'}); end it (ss -ltnp shows which it "
        f"is), or choose another port, here and at the client",
    )


def files_exhausted(needed: int, flows: int, limit: int) -> FilesExhausted:
    """``limit`` is the hard limit of open files."""
    return FilesExhausted(
        errno.EMFILE,
        f"--num-flows {flows} needs {needed} open files and this process may have {limit}: raise the limit first "
        f"(ulimit -n {needed}; beyond the hard limit as root, or in /etc/security/limits.conf), or use fewer flows",
    )
