# C types of space.py for Cython's pure Python mode. The module says what the fields mean.

cimport cython

cdef int _UNUSED, _FREE, _COOLING, _COOLING_LONG, _LEASED, _EXCLUDED, _DETACHED, _FOREIGN
cdef int _RETRIES, _PLACES, _NIL
cdef int _HOW_FREED, _HOW_TIME_WAIT, _HOW_DETACHED, _REASON_OUTSIDE
cdef double _FIRST_RETRY

cdef class Loan:
    cdef public int port
    cdef public bint held

@cython.final
cdef class PortSpace:
    cdef readonly int low, high, size, leased, cooling, foreign, excluded
    cdef readonly unsigned long long changes
    cdef readonly double reuse_delay, time_wait
    cdef int _cursor, _capacity
    cdef readonly long long start, stride
    cdef long long _inverse
    cdef const unsigned char[::1] _bitmap
    cdef unsigned short[::1] _next, _prev, _head, _tail
    cdef unsigned char[::1] _place, _strikes
    cdef double[::1] _due

    @cython.locals(index=cython.int)
    cpdef int take(self, double now) except -1 nogil
    @cython.locals(index=cython.int)
    cpdef bint release(self, int port, int how, double now) noexcept nogil
    @cython.locals(index=cython.int)
    cpdef bint reject(self, int port, int reason, double now) noexcept nogil
    @cython.locals(index=cython.int, place=cython.int)
    cpdef bint adopt(self, int port) except -1 nogil

    @cython.locals(port=cython.int)
    cpdef bint lend(self, Loan loan, double now) except? -1
    cpdef bint lend_chosen(self, Loan loan, int port) except? -1
    cpdef bint end(self, Loan loan, int how, double now) noexcept
    cpdef bint refuse(self, Loan loan, int reason, double now) noexcept

    @cython.locals(index=cython.int)
    cdef void _restore(self, int port, int place, int strikes, double due) except *
    cdef int _port(self, long long index) noexcept nogil
    cdef int _index(self, long long port) noexcept nogil
    @cython.locals(index=cython.int)
    cdef int _leased_index(self, int port) noexcept nogil
    cdef bint _is_excluded(self, int port) noexcept nogil
    @cython.locals(index=cython.int)
    cdef int _first_use(self) except -1 nogil
    @cython.locals(index=cython.int, moves=cython.int)
    cdef void _mature(self, int place, double now) noexcept nogil
    @cython.locals(index=cython.int, place=cython.int)
    cdef int _due_retry(self, double now) noexcept nogil
    @cython.locals(strikes=cython.int)
    cdef void _suspect(self, int index, double now) noexcept nogil
    @cython.locals(tail=cython.int)
    cdef void _link(self, int index, int place, double due) noexcept nogil
    @cython.locals(place=cython.int, before=cython.int, after=cython.int)
    cdef void _unlink(self, int index) noexcept nogil
    cdef void _count(self, int place, int change) noexcept nogil
    @cython.locals(
        wanted=cython.int,
        index=cython.int,
        after="unsigned short[::1]",
        before="unsigned short[::1]",
        places="unsigned char[::1]",
        strikes="unsigned char[::1]",
        due="double[::1]",
    )
    cdef void _reserve(self, int capacity) except * with gil
