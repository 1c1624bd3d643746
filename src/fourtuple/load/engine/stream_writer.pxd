# C types of stream_writer.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
cimport fourtuple.linux.cstreaming as streaming

cdef int _ENOBUFS, _MSG_ZEROCOPY

cdef class Writer:
    cdef readonly int size
    cdef readonly unsigned long long sent, writes
    cdef int _flags
    cdef unsigned char[::1] _buffer

    @cython.locals(sent=int)
    cdef int write(self, int fd) noexcept nogil
    cdef int reap(self, int fd) noexcept nogil
    cdef void _count(self, int sent) noexcept nogil

cdef class ZeroCopyWriter(Writer):
    cdef readonly unsigned long long copied_at_once
    cdef readonly unsigned long long[::1] reports

    @cython.locals(sent=int)
    cdef int write(self, int fd) noexcept nogil
    @cython.locals(found=int)
    cdef int reap(self, int fd) noexcept nogil
