# C types of crr.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.client cimport Client

cdef unsigned int _IN, _OUT
cdef int _EAGAIN, _EPIPE, _ECONNRESET

cdef class CrrClient(Client):
    cdef int _request, _response, _broken_count
    cdef unsigned char[::1] _buffer
    cdef int[::1] _sent, _got, _broken
    cdef long long[::1] _connected

    cdef bint _awaits_connection(self, int slot) noexcept nogil
    @cython.locals(code=int)
    cdef void _begin(self, int slot) noexcept nogil
    @cython.locals(code=int, waiting=bint)
    cdef int _open(self, int slot) noexcept nogil
    @cython.locals(sent=int)
    cdef int _write(self, int slot) noexcept nogil
    @cython.locals(code=int, got=int)
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    @cython.locals(moment="long long")
    cdef void _complete(self, int slot) noexcept nogil
    cdef void _give_up(self, int slot, int code) noexcept nogil
    cdef void _break(self, int slot, int code) noexcept nogil
    @cython.locals(count=int, place=int, timeout="long long")
    cdef long long _pass_time(self) noexcept nogil
