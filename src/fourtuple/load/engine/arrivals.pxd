# C types of arrivals.py; see ports/space.pxd.

cimport cython
cimport libc.math as math

cimport fourtuple.linux.clibc as libc

cdef unsigned long long _MASK
cdef double _SCALE, _NEVER

@cython.final
cdef class Arrivals:
    cdef readonly long long next, passed
    cdef double _gap, _offset
    cdef bint _poisson
    cdef long long _begin
    cdef unsigned long long _state

    cpdef void begin(self, long long moment) noexcept nogil
    @cython.locals(gap=double)
    cpdef void advance(self) noexcept nogil
    @cython.locals(state="unsigned long long")
    cdef double _uniform(self) noexcept nogil
