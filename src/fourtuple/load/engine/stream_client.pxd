# C types of stream_client.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.client cimport Client
from fourtuple.load.engine.stream cimport Stream

cdef unsigned int _OUT
cdef int _ESTABLISHED

cdef class StreamClient(Client):
    cdef readonly Stream stream
    cdef int[::1] _directions
    cdef unsigned char[::1] _connecting

    cdef bint _awaits_connection(self, int slot) noexcept nogil
    @cython.locals(code=int)
    cdef void _begin(self, int slot) noexcept nogil
    @cython.locals(code=int)
    cdef void _ready(self, int slot, unsigned int events) noexcept nogil
    @cython.locals(code=int)
    cdef int _connected(self, int slot) noexcept nogil
