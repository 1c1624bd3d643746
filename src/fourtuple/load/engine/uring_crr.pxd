# C types of uring_crr.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.client cimport Client
from fourtuple.load.engine.crr cimport CrrClient
from fourtuple.load.engine.dialer cimport Dialer
from fourtuple.load.engine.ring cimport Ring, signed

cdef int _CONNECTION, _SEND, _RECEIVE, _CLOSE

cdef class UringCrrClient(CrrClient):
    cdef Ring _ring
    cdef Dialer _dialer
    cdef unsigned char[::1] _data
    cdef unsigned long long _data_address
    cdef int[::1] _tag, _wrong

    cpdef run(self, int gate=*)
    cdef void _start(self) noexcept nogil
    cdef int _wait(self, long long timeout) noexcept nogil
    @cython.locals(tag=int)
    cdef int _open(self, int slot) noexcept nogil
    @cython.locals(flow=int, result=int, code=int)
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    @cython.locals(moment="long long")
    cdef void _complete(self, int slot) noexcept nogil
    cdef void _hang_up(self, int slot) noexcept nogil
    cdef void _finish(self) noexcept nogil
