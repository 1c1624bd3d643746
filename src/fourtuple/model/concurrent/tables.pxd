# C types of tables.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

cimport fourtuple.model.concurrent.catomics as atomics
from fourtuple.model.concurrent.chains cimport Chains
from fourtuple.model.concurrent.epochs cimport Epochs
from fourtuple.model.concurrent.keys cimport Keys
from fourtuple.model.concurrent.looks cimport LockedLook
from fourtuple.model.concurrent.pool cimport Pool

cdef int _LINE, _STATE, _ADDRESSES, _PORTS, _OWNER, _OWNERS
cdef int _EADDRINUSE, _EADDRNOTAVAIL, _ESTALE
cdef long long _NODE_MASK

@cython.final
cdef class Tables:
    cdef uint64_t[::1] _memory
    cdef uint64_t* _words
    cdef Chains _chains
    cdef LockedLook _look
    cdef Pool _pool
    cdef long long _first_node, _nodes

    @cython.locals(size=int, step=int, port=int, result="long long")
    cpdef long long connect(self, Keys keys, uint64_t start) noexcept nogil
    cpdef long long lookup(self, Keys keys, int port) noexcept nogil
    @cython.locals(node="long long", at="long long", state=uint64_t)
    cpdef long long close(self, long long handle) noexcept nogil
    cpdef int local_port(self, long long handle) noexcept nogil

    @cython.locals(bind="long long", owner="long long", result="long long")
    cdef long long _claim(self, Keys keys, int port) noexcept nogil
    @cython.locals(ports=uint64_t, chain="long long", result="long long")
    cdef long long _add(self, Keys keys, int port, long long owner) noexcept nogil
    @cython.locals(node="long long", at="long long")
    cdef long long _make(self, uint64_t addresses, uint64_t ports, long long owner) noexcept nogil
    @cython.locals(owner="long long", at="long long")
    cdef long long _make_owner(self, uint64_t port) noexcept nogil
    @cython.locals(at="long long", ports=uint64_t, owner="long long", chain="long long")
    cdef void _take_out(self, long long node) noexcept nogil
