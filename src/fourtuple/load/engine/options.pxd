# C types of options.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc

@cython.final
cdef class SocketOptions:
    cdef int _count
    cdef int[::1] _level, _name, _size
    cdef const unsigned char[::1] _values

    @cython.locals(start=int, place=int, size=int, code=int)
    cpdef int apply(self, int fd) noexcept nogil
