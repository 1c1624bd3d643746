# C types of lanes.py; see ports/space.pxd.

cimport cython

from fourtuple.ports.space cimport PortSpace

@cython.final
cdef class Lane:
    cdef readonly PortSpace space
    cdef readonly Lane after
    cdef cython.pymutex _lock

    cpdef int take(self, int lane, double now) noexcept nogil
    cpdef void release(self, int lane, int port, int how, double now) noexcept nogil
    cpdef void reject(self, int lane, int port, int reason, double now) noexcept nogil
    cpdef bint adopt(self, int lane, int port) except -1 nogil
