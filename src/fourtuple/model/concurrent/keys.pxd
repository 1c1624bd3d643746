# C types of keys.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

@cython.final
cdef class Keys:
    cdef readonly uint64_t source, destination, addresses
    cdef readonly int destination_port, low, high

    cpdef uint64_t ports(self, uint64_t local_port) noexcept nogil
