# C types of dumper.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.stress.dump cimport DumpReader
from fourtuple.load.stress.worker cimport Worker

cdef int _ATTRIBUTES, _DUMPS, _SOCKETS, _LEAST, _GREATEST
cdef int _SOCKET, _SEND, _RECEIVE, _DUMP, _TRUNCATED, _EINTR
cdef int _AF_NETLINK, _SOCK_RAW, _MSG_TRUNC, _NETLINK_SOCK_DIAG, _MORE, _DONE, _SIZE

cdef class Dumper(Worker):
    cdef unsigned char[::1] _request
    cdef int _request_size
    cdef DumpReader _reader

    @cython.locals(fd=int, sent=int)
    cdef void _step(self) noexcept nogil
    @cython.locals(sockets="long long", code=int)
    cdef void _receive(self, int fd) noexcept nogil
    @cython.locals(size=int, code=int)
    cdef int _read(self, int fd) noexcept nogil
    cdef void _record(self, long long sockets) noexcept nogil
