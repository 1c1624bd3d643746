# C types of looks.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

from fourtuple.model.concurrent.chains cimport Chains
from fourtuple.model.concurrent.epochs cimport Epochs
from fourtuple.model.concurrent.keys cimport Keys

cdef class LockedLook:
    cdef Chains _chains
    cdef Epochs _epochs

    @cython.locals(ports=uint64_t, chain="long long", result="long long")
    cdef long long find(self, Keys keys, int port) noexcept nogil
    cdef bint taken(self, Keys keys, int port) noexcept nogil

cdef class RcuLook(LockedLook):
    @cython.locals(ports=uint64_t, chain="long long", result="long long")
    cdef long long find(self, Keys keys, int port) noexcept nogil
    @cython.locals(ports=uint64_t, taken=bint)
    cdef bint taken(self, Keys keys, int port) noexcept nogil
