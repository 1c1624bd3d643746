# C types of randomness.py; see ports/space.pxd.

cimport cython

cdef unsigned long long _MULTIPLIER, _64

@cython.final
cdef class Randomness:
    cdef unsigned long long state

    @cython.locals(state="unsigned long long")
    cpdef unsigned int below(self, unsigned long long bound) noexcept nogil
