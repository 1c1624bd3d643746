# C types of search.py; see ports/space.pxd.

cimport cython

cimport fourtuple.model.clayout as layout
from fourtuple.model.buckets cimport Buckets
from fourtuple.model.hashes cimport hash_32
from fourtuple.model.randomness cimport Randomness
from fourtuple.model.shortcuts cimport Shortcuts
from fourtuple.model.tables cimport Tables

cdef int _IN_CHECK, _IN_SEARCH, _ONCE, _HINT, _TABLE_256
cdef int _TRY, _SKIP, _RESCHEDULE
cdef unsigned int _32, _ALL_PORTS

@cython.final
cdef class Search:
    cdef Tables _tables
    cdef Buckets _buckets
    cdef Randomness _random
    cdef int _look, _hash_kind, _perturbation
    cdef bint _by_one, _strict_fin_wait2, _precise_delay
    cdef unsigned int[::1] _hints
    cdef public unsigned char[::1] reserved
    cdef public long long now
    cdef public int tw_reuse
    cdef public long long tw_reuse_delay
    cdef readonly unsigned int replaced
    cdef unsigned int _sock
    cdef Shortcuts _shortcuts
    cdef bint _quick

    @cython.locals(roomy=bint, exact=bint)
    cpdef take(self, Shortcuts shortcuts)

    @cython.locals(
        one_pass=bint,
        step="unsigned int",
        remaining="unsigned int",
        place="unsigned int",
        offset="unsigned int",
        stride="unsigned int",
        passes=int,
        parity=int,
        port="unsigned int",
        tried="unsigned int",
        quick=bint,
        whole=bint,
        slot="unsigned int",
    )
    cpdef unsigned int choose(
        self,
        unsigned int sock,
        unsigned int low,
        unsigned int high,
        bint local_range,
        unsigned long long port_offset,
        unsigned int width,
    ) noexcept nogil
    cpdef bint fix(self, unsigned int sock) noexcept nogil
    cdef unsigned int _inserted_hash(self, unsigned int port) noexcept nogil
    cdef unsigned int _place(self, unsigned long long port_offset) noexcept nogil
    cdef unsigned int _start(self, unsigned int place, unsigned long long port_offset) noexcept nogil
    cdef void _move_hint(self, unsigned int place, unsigned int tried, unsigned int step) noexcept nogil
    @cython.locals(bound="unsigned int", stride="unsigned int")
    cdef unsigned int _stride(self, unsigned int size, unsigned int width) noexcept nogil
    @cython.locals(slot="unsigned int", bucket="unsigned int", hashed="unsigned int")
    cdef inline bint _try(self, unsigned int port) noexcept nogil
    cdef inline bint _next(self, unsigned int port) noexcept nogil
    @cython.locals(hashed="unsigned int", found="unsigned int")
    cdef inline unsigned int _check(self, unsigned int port, bint explicit) noexcept nogil
    cdef void _connect(self, unsigned int port, unsigned int hashed) noexcept nogil
    @cython.locals(entered="long long")
    cdef bint _gives_way(self, unsigned int record, bint explicit) noexcept nogil
    cdef bint _loopback(self) noexcept nogil

cdef bint _coprime(unsigned int a, unsigned int b) noexcept nogil
