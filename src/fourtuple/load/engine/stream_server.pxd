# C types of stream_server.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.server cimport Server
from fourtuple.load.engine.stream cimport Stream

cdef unsigned int _IN
cdef int _READ, _WRITE

cdef class StreamServer(Server):
    cdef readonly Stream stream
    cdef readonly unsigned long long[::1] done
    cdef int _directions
    cdef unsigned char[::1] _direction

    @cython.locals(more=int)
    cdef void _reserve(self, int capacity) noexcept with gil
    @cython.locals(code=int)
    cdef bint _welcome(self, int fd) noexcept nogil
    @cython.locals(code=int)
    cdef void _serve(self, int fd, unsigned int events) noexcept nogil

cdef class SplitStreamServer(StreamServer):
    cdef void _serve(self, int fd, unsigned int events) noexcept nogil
