# C types of server.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.loop cimport Loop

cdef unsigned int _IN
cdef int _EAGAIN, _EMFILE, _ENFILE, _NONBLOCK, _ACCEPTED_AT_ONCE
cdef int _NONE, _CONNECTION, _LISTENER

cdef class Server(Loop):
    cdef readonly unsigned long long connections
    cdef readonly int open, most
    cdef int _capacity, _listener_count
    cdef bint _listening
    cdef unsigned char[::1] _kind
    cdef int[::1] _listeners

    cdef bint _welcome(self, int fd) noexcept nogil
    cdef void _serve(self, int fd, unsigned int events) noexcept nogil
    cdef void _end(self, int fd) noexcept nogil
    cdef void _reserve(self, int capacity) noexcept with gil
    cdef void _start(self) noexcept nogil
    @cython.locals(place=int)
    cdef void _listen(self) noexcept nogil
    @cython.locals(place=int)
    cdef void _stop_listening(self) noexcept nogil
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    @cython.locals(fd=int)
    cdef void _accept(self, int listener) noexcept nogil
    @cython.locals(fd=int)
    cdef void _finish(self) noexcept nogil
