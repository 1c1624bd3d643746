# C types of chains.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

cimport fourtuple.model.concurrent.catomics as atomics

cdef int _LINE, _LOCK, _HEAD, _BUCKET, _LINK, _STATE, _ADDRESSES, _PORTS, _ENOENT
cdef int _NODE_BITS
cdef long long _STATE_MASK
cdef uint64_t _SPREAD, _SPREAD_AGAIN, _WORD

@cython.final
cdef class Chains:
    cdef uint64_t[::1] _memory
    cdef uint64_t* _words
    cdef long long _bind, _bind_mask, _established, _established_mask, _first_node

    cdef long long bind_chain(self, long long port) noexcept nogil
    @cython.locals(mixed=uint64_t)
    cdef long long established_chain(self, uint64_t addresses, uint64_t ports) noexcept nogil
    cdef void lock(self, long long chain) noexcept nogil
    cdef void unlock(self, long long chain) noexcept nogil
    @cython.locals(node="long long", at="long long")
    cdef long long walk(self, long long chain, uint64_t addresses, uint64_t ports) noexcept nogil
    @cython.locals(at="long long")
    cdef void link(self, long long chain, long long node) noexcept nogil
    @cython.locals(link="long long")
    cdef void unlink(self, long long chain, long long node) noexcept nogil
    @cython.locals(state=uint64_t)
    cdef long long handle(self, long long node) noexcept nogil
