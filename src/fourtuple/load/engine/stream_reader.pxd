# C types of stream_reader.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
cimport fourtuple.linux.cstreaming as streaming

cdef class Reader:
    cdef readonly int size
    cdef readonly unsigned long long received, reads
    cdef int _flags
    cdef unsigned char[::1] _buffer

    @cython.locals(got=int)
    cdef int read(self, int fd) noexcept nogil
    cdef void _count(self, int got) noexcept nogil

cdef class MappedReader(Reader):
    cdef readonly unsigned long long mapped
    cdef int[::1] _result
    cdef long long _address

    @cython.locals(code=int, got=int, rest=int)
    cdef int read(self, int fd) noexcept nogil
