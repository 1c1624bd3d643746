# C types of rr.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.client cimport Client

cdef unsigned int _IN, _OUT
cdef int _EAGAIN, _ESTABLISHED, _THERE, _AWAITED, _MEASURED

cdef class RrClient(Client):
    cdef int _request, _response, _waiting_count
    cdef long long _delay
    cdef unsigned char[::1] _buffer, _connecting
    cdef int[::1] _sent, _got, _waiting
    cdef long long[::1] _requested, _due

    cdef bint _awaits_connection(self, int slot) noexcept nogil
    @cython.locals(code=int)
    cdef void _admit(self, int slot, long long moment) noexcept nogil
    @cython.locals(code=int)
    cdef int _open(self, int slot) noexcept nogil
    @cython.locals(timeout="long long", moment="long long", rest="long long", place=int, slot=int)
    cdef long long _pass_time(self) noexcept nogil
    cdef void _go_on(self, int slot, long long moment) noexcept nogil
    @cython.locals(code=int)
    cdef void _begin(self, int slot) noexcept nogil
    @cython.locals(sent=int)
    cdef int _write(self, int slot) noexcept nogil
    @cython.locals(code=int, got=int)
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    @cython.locals(moment="long long")
    cdef void _complete(self, int slot) noexcept nogil
    @cython.locals(code=int)
    cdef void _look_at_connection(self, int slot) noexcept nogil
    @cython.locals(moment="long long")
    cdef void _connected(self, int slot) noexcept nogil
