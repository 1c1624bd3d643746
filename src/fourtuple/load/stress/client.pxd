# C types of client.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.chooser cimport PortChooser
from fourtuple.load.stress.worker cimport Worker

cdef int _ROUNDS, _CONNECTIONS, _HELD, _MOST_HELD, _KERNEL_CHOICES, _REFUSED_PORTS, _MOST_SOCKETS
cdef int _SOCKET, _CONNECT, _RECEIVE
cdef int _AF_INET, _SOCK_STREAM, _SHUT_RDWR, _EADDRNOTAVAIL, _ECONNREFUSED
cdef int _ADDRESS_SIZE, _PAUSE, _FREED

cdef class Client(Worker):
    cdef const unsigned char[::1] _address
    cdef int _size
    cdef unsigned char[::1] _buffer
    cdef int[::1] _fds

    @cython.locals(place=int, held=int, code=int)
    cdef void _step(self) noexcept nogil
    @cython.locals(fd=int, code=int)
    cdef int _open(self, int place) noexcept nogil
    @cython.locals(received=int)
    cdef bint _receive(self, int place) noexcept nogil
    cdef void _close(self, int place) noexcept nogil
    cdef int _connect(self, int fd, int place) noexcept nogil

cdef class ChoosingClient(Client):
    cdef PortChooser _chooser
    cdef int[::1] _ports

    @cython.locals(code=int)
    cdef int _connect(self, int fd, int place) noexcept nogil
    cdef void _close(self, int place) noexcept nogil
