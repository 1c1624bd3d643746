# C types of stream.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.loop cimport Loop
from fourtuple.load.engine.stream_reader cimport Reader
from fourtuple.load.engine.stream_writer cimport Writer

cdef unsigned int _IN, _OUT, _ERR, _HUP, _RDHUP, _ET
cdef int _EAGAIN, _READ, _WRITE, _GOES_ON, _TURNS
cdef long long _LONGEST

cdef class Stream:
    cdef readonly Reader reader
    cdef readonly Writer writer
    cdef long long _delay
    cdef int _turns

    @cython.locals(wanted="unsigned int")
    cdef unsigned int events(self, int directions) noexcept nogil
    @cython.locals(code=int, reads=int, writes=int)
    cdef int serve(
        self, Loop loop, int fd, int slot, unsigned int events, int directions, unsigned long long[::1] done
    ) noexcept nogil
    cdef void _interrupt(self, Loop loop, int fd, int slot, int directions) noexcept nogil
    @cython.locals(moment="long long", end="long long")
    cdef void _pause(self, Loop loop) noexcept nogil

cdef class EdgeStream(Stream):
    cdef unsigned int events(self, int directions) noexcept nogil
    cdef void _interrupt(self, Loop loop, int fd, int slot, int directions) noexcept nogil
