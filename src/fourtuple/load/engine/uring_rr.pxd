# C types of uring_rr.py; see ports/space.pxd.

cimport cython

from fourtuple.load.engine.client cimport Client
from fourtuple.load.engine.dialer cimport Dialer
from fourtuple.load.engine.ring cimport Ring, signed
from fourtuple.load.engine.rr cimport RrClient

cdef int _PREPARATION, _CONNECT, _SEND, _RECEIVE, _CLOSE

cdef class UringRrClient(RrClient):
    cdef Ring _ring
    cdef Dialer _dialer
    cdef unsigned char[::1] _data
    cdef unsigned long long _data_address
    cdef int[::1] _wrong

    cpdef run(self, int gate=*)
    cdef void _start(self) noexcept nogil
    cdef int _wait(self, long long timeout) noexcept nogil
    cdef int _open(self, int slot) noexcept nogil
    cdef int _write(self, int slot) noexcept nogil
    @cython.locals(flow=int, kind=int, result=int, expected=int)
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    cdef void _hang_up(self, int slot) noexcept nogil
    cdef void _finish(self) noexcept nogil
