# C types of echo.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.loop cimport Loop

cdef unsigned int _IN, _ERR, _HUP
cdef int _EAGAIN, _EMFILE, _ENFILE, _NONBLOCK, _ACCEPTED_AT_ONCE
cdef int _NONE, _CONNECTION, _LISTENER

cdef class EchoServer(Loop):
    cdef readonly unsigned long long connections, transactions
    cdef readonly int open, most
    cdef int _request, _response, _capacity, _listener_count
    cdef bint _listening
    cdef unsigned char[::1] _buffer, _kind
    cdef int[::1] _listeners, _got, _owed

    cdef void _start(self) noexcept nogil
    @cython.locals(place=int)
    cdef void _listen(self) noexcept nogil
    @cython.locals(place=int)
    cdef void _stop_listening(self) noexcept nogil
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    @cython.locals(fd=int, served=bint)
    cdef void _accept(self, int listener) noexcept nogil
    @cython.locals(got=int)
    cdef bint _serve(self, int fd) noexcept nogil
    @cython.locals(sent=int)
    cdef bint _answer(self, int fd) noexcept nogil
    cdef void _end(self, int fd) noexcept nogil
    @cython.locals(fd=int)
    cdef void _finish(self) noexcept nogil
    @cython.locals(more=int)
    cdef void _reserve(self, int capacity) noexcept with gil
