# C types of server.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.stress.worker cimport Worker

cdef int _ACCEPTED, _ACCEPT, _SEND, _SOL_SOCKET, _SO_SNDBUF, _IPPROTO_TCP, _TCP_QUICKACK

cdef class Server(Worker):
    cdef int _listener, _size
    cdef unsigned char[::1] _message

    @cython.locals(fd=int)
    cdef void _step(self) noexcept nogil
    @cython.locals(sent=int)
    cdef void _serve(self, int fd) noexcept nogil
