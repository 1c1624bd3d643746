# C types of uring_echo.py; see ports/space.pxd.

cimport cython

from fourtuple.load.engine.loop cimport Loop
from fourtuple.load.engine.ring cimport Ring, signed

cdef int _ACCEPT, _RECEIVE, _SEND, _CLOSE, _ECONNRESET

cdef class UringEchoServer(Loop):
    cdef readonly unsigned long long connections, transactions
    cdef readonly int open, most
    cdef Ring _ring
    cdef unsigned char[::1] _data
    cdef unsigned long long _data_address
    cdef int _request, _response, _deaf_count
    cdef int[::1] _listeners, _deaf

    cpdef run(self, int gate=*)
    cdef int _wait(self, long long timeout) noexcept nogil
    cdef void _start(self) noexcept nogil
    @cython.locals(place=int)
    cdef void _listen(self) noexcept nogil
    @cython.locals(tag=int, kind=int, result=int)
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    cdef void _admit(self, int index) noexcept nogil
    @cython.locals(tag=int)
    cdef void _serve(self, int index) noexcept nogil
    cdef void _end(self, int index, int result) noexcept nogil
