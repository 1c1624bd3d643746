# C types of epochs.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

cimport fourtuple.model.concurrent.catomics as atomics

cdef int _LINE, _EPOCH, _GRACE

@cython.final
cdef class Epochs:
    cdef uint64_t[::1] _memory
    cdef uint64_t* _words
    cdef long long _readers, _own
    cdef int _workers

    cpdef void enter(self) noexcept nogil
    cpdef void leave(self) noexcept nogil
    cpdef uint64_t now(self) noexcept nogil
    cpdef bint passed(self, uint64_t stamp) noexcept nogil
    @cython.locals(epoch=uint64_t, word=uint64_t, worker=int)
    cpdef void advance(self) noexcept nogil
