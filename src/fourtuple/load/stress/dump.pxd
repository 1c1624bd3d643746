# C types of dump.py; see ports/space.pxd.

cimport cython

cdef int _MORE, _END
cdef int _SOCK_DIAG_BY_FAMILY, _HEADER, _SOCKET, _ATTRIBUTE, _ERROR, _DONE, _BAD

@cython.final
cdef class DumpReader:
    cdef readonly unsigned char[::1] buffer
    cdef readonly long long sockets, attributes
    cdef int[::1] _words
    cdef unsigned short[::1] _halves

    @cython.locals(place=int, length=int, kind=int, code=int)
    cpdef int read(self, int size) noexcept nogil
    @cython.locals(length=int)
    cdef void _count(self, int place, int end) noexcept nogil
