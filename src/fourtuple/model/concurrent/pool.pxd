# C types of pool.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

cimport fourtuple.model.concurrent.catomics as atomics
from fourtuple.model.concurrent.epochs cimport Epochs

cdef int _LINE, _USED, _FIRST, _LAST, _QUEUED, _RETIRED, _ENOMEM, _EAGAIN

@cython.final
cdef class Pool:
    cdef uint64_t[::1] _memory
    cdef uint64_t* _words
    cdef Epochs _epochs
    cdef long long _pools, _first_node, _nodes
    cdef int _workers, _worker

    @cython.locals(node="long long", fresh="long long", step=int)
    cpdef long long take(self) noexcept nogil
    @cython.locals(pool="long long", at="long long", stamp=uint64_t, last="long long")
    cpdef void give(self, long long node) noexcept nogil
    @cython.locals(pool="long long", node="long long", at="long long", result="long long")
    cdef long long _oldest(self, int worker) noexcept nogil
    cdef bint _rested(self, uint64_t stamp) noexcept nogil
    @cython.locals(node="long long")
    cdef long long _fresh(self) noexcept nogil
