# C types of loop.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc

cdef long long _LONGEST
cdef int ERRNOS

cdef class Loop:
    cdef readonly int epoll
    cdef readonly bint started, stopped
    cdef readonly unsigned long long rounds
    cdef readonly unsigned long long[::1] failures
    cdef int[::1] _slots
    cdef unsigned int[::1] _events

    @cython.locals(descriptor=int)
    cpdef run(self, int gate=*)
    @cython.locals(timeout="long long", count=int, place=int)
    cdef void _spin(self) noexcept nogil
    cdef void _start(self) noexcept nogil
    cdef void _set_off(self) noexcept nogil
    cdef long long _pass_time(self) noexcept nogil
    cdef int _wait(self, long long timeout) noexcept nogil
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    cdef void _finish(self) noexcept nogil
    cdef void _fail(self, int code) noexcept nogil
