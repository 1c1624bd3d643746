# C types of dialer.py; see ports/space.pxd.

cimport cython

from fourtuple.load.engine.ring cimport Ring

@cython.final
cdef class Dialer:
    cdef readonly Ring ring
    cdef int _family, _count, _address_size
    cdef int[::1] _level, _name, _size, _destination_of, _source_of
    cdef unsigned char[::1] _memory
    cdef unsigned long long _values, _destinations, _sources

    @cython.locals(value="unsigned long long", place=int)
    cdef void prepare(self, int flow, unsigned long long tag) noexcept nogil
    cdef void connect(self, int flow, unsigned long long tag) noexcept nogil
    cdef void connect_quietly(self, int flow, unsigned long long tag) noexcept nogil
    cdef unsigned long long _destination(self, int flow) noexcept nogil
