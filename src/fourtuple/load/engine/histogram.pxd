# C types of histogram.py; see ports/space.pxd.

cimport cython

cdef int _HALF, _SIZE

@cython.final
cdef class Histogram:
    cdef readonly long long count, least, greatest
    cdef readonly double total, squares
    cdef unsigned long long[::1] _buckets

    @cython.locals(power=int)
    cpdef void record(self, long long value) noexcept nogil
    @cython.locals(bucket=int)
    cpdef add(self, Histogram other)
    @cython.locals(bucket=int, later=Histogram)
    cpdef Histogram since(self, Histogram earlier)
