# C types of loops.py; see ports/space.pxd.

cimport cython
from libc.stdint cimport uint64_t

cimport fourtuple.model.concurrent.catomics as atomics
from fourtuple.model.concurrent.catomics cimport words_pointer
from fourtuple.model.concurrent.keys cimport Keys
from fourtuple.model.concurrent.tables cimport Tables

cdef uint64_t _FACTOR, _TERM, _WORD

@cython.locals(
    ring="long long[::1]",
    words=words_pointer,
    draw=uint64_t,
    twice="long long",
    lost="long long",
    refused="long long",
    turn="long long",
    place="long long",
    handle="long long",
    port=int,
)
cpdef churn(Tables tables, Keys keys, uint64_t[::1] marks, long long held, long long rounds, uint64_t seed)
@cython.locals(found="long long", _turn="long long", port=int)
cpdef look(Tables tables, Keys keys, long long rounds)
cdef uint64_t _next(uint64_t draw) noexcept nogil
