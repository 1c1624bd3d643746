# C types of echo.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.server cimport Server

cdef unsigned int _IN, _OUT, _ERR, _HUP
cdef int _EAGAIN

cdef class EchoServer(Server):
    cdef readonly unsigned long long transactions
    cdef int _request, _response
    cdef unsigned char[::1] _buffer
    cdef int[::1] _got, _owed

    @cython.locals(more=int)
    cdef void _reserve(self, int capacity) noexcept with gil
    @cython.locals(open_before=int, answered=bint)
    cdef bint _welcome(self, int fd) noexcept nogil
    cdef void _serve(self, int fd, unsigned int events) noexcept nogil
    @cython.locals(got=int)
    cdef bint _receive(self, int fd) noexcept nogil
    @cython.locals(sent=int)
    cdef bint _answer(self, int fd) noexcept nogil
