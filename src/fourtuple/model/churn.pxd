# C types of churn.py; see ports/space.pxd.

cimport cython

cimport fourtuple.model.clayout as layout
from fourtuple.model.buckets cimport Buckets
from fourtuple.model.randomness cimport Randomness
from fourtuple.model.search cimport Search
from fourtuple.model.shortcuts cimport Shortcuts
from fourtuple.model.tables cimport Tables

cdef int _COUNTERS

@cython.final
cdef class Churn:
    cdef Tables _tables
    cdef Buckets _buckets
    cdef Search _search
    cdef Randomness _chance
    cdef unsigned int[::1] _socks
    cdef unsigned int _count, _low, _high, _width
    cdef unsigned long long _port_offset
    cdef long long[::1] _totals
    cdef Shortcuts _shortcuts

    @cython.locals(place=int, rounds="long long")
    cpdef run(self, long long connects)
    @cython.locals(sock="unsigned int", round="long long")
    cdef void _run(self, long long connects) noexcept nogil
    cdef unsigned int _slot(self, unsigned int sock) noexcept nogil
    cdef void _reset(self, unsigned int sock) noexcept nogil
    @cython.locals(flags="unsigned int")
    cdef void _connect(self, unsigned int sock) noexcept nogil
    cdef void _add(self) noexcept nogil
