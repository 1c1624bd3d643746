# C types of space.py for Cython's pure Python mode. The module says what the fields mean.

cimport cython

cdef int _FREE, _COOLING, _COOLING_LONG, _LEASED, _EXCLUDED, _DETACHED, _FOREIGN
cdef int _RETRIES, _PLACES, _NIL, _STILL_OURS
cdef int _HOW_FREED, _HOW_TIME_WAIT, _HOW_TIME_WAIT_KEPT, _HOW_DETACHED, _REASON_OUTSIDE
cdef double _FIRST_RETRY

cdef class Loan:
    cdef public int port
    cdef public bint held

@cython.final
cdef class PortSpace:
    cdef readonly int low, high, size, leased, cooling, foreign, excluded
    cdef readonly unsigned long long changes
    cdef readonly double reuse_delay, time_wait
    cdef int _cursor, _used, _capacity
    cdef readonly int start
    # Their products with a place in the range, start added, stay below 2**32.
    cdef readonly unsigned int stride
    cdef unsigned int _inverse
    cdef const unsigned char[::1] _bitmap
    cdef unsigned short[::1] _head, _tail
    cdef unsigned short[::1] _port, _chain, _bucket, _next, _prev
    cdef unsigned char[::1] _place
    cdef signed char[::1] _strikes
    cdef double[::1] _due

    @cython.locals(slot=cython.int)
    cpdef int take(self, double now) except -1 nogil
    @cython.locals(slot=cython.int)
    cpdef bint release(self, int port, int how, double now) noexcept nogil
    @cython.locals(slot=cython.int)
    cpdef bint reject(self, int port, int reason, double now) noexcept nogil
    @cython.locals(slot=cython.int, turn=cython.int)
    cpdef bint adopt(self, int port) except -1 nogil

    @cython.locals(port=cython.int)
    cpdef bint lend(self, Loan loan, double now) except? -1
    cpdef bint lend_chosen(self, Loan loan, int port) except? -1
    cpdef bint end(self, Loan loan, int how, double now) noexcept
    cpdef bint refuse(self, Loan loan, int reason, double now) noexcept

    @cython.locals(slot=cython.int)
    cdef void _restore(self, int port, int place, int strikes, double due) except *
    cdef void _lease(self, int slot) noexcept nogil
    @cython.locals(steps=cython.int)
    cdef int _turn(self, int port) noexcept nogil
    @cython.locals(slot=cython.int)
    cdef int _find(self, int port, int turn) noexcept nogil
    @cython.locals(slot=cython.int)
    cdef int _leased_slot(self, int port) noexcept nogil
    @cython.locals(slot=cython.int)
    cdef int _new_slot(self, int port, int turn) noexcept nogil
    @cython.locals(bucket=cython.int)
    cdef void _enter(self, int slot, int turn) noexcept nogil
    cdef int _hash(self, int turn) noexcept nogil
    cdef bint _is_excluded(self, int port) noexcept nogil
    @cython.locals(port=cython.int, turn=cython.int)
    cdef int _first_use(self) noexcept nogil
    @cython.locals(slot=cython.int, moves=cython.int)
    cdef void _mature(self, int place, double now) noexcept nogil
    @cython.locals(slot=cython.int, place=cython.int)
    cdef int _due_retry(self, double now) noexcept nogil
    @cython.locals(strikes=cython.int)
    cdef void _suspect(self, int slot, double now) noexcept nogil
    @cython.locals(tail=cython.int)
    cdef void _link(self, int slot, int place, double due) noexcept nogil
    @cython.locals(place=cython.int, before=cython.int, after=cython.int)
    cdef void _unlink(self, int slot) noexcept nogil
    cdef void _count(self, int place, int change) noexcept nogil
    cdef int _make_room(self) except -1 nogil
    @cython.locals(
        slot=cython.int,
        port="unsigned short[::1]",
        chain="unsigned short[::1]",
        bucket="unsigned short[::1]",
        after="unsigned short[::1]",
        before="unsigned short[::1]",
        place="unsigned char[::1]",
        strikes="signed char[::1]",
        due="double[::1]",
    )
    cdef void _resize(self, int capacity) except * with gil
