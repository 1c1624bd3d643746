# C types of client.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
cimport fourtuple.load.stress.ccalls as calls
from fourtuple.load.engine.lanes cimport Lane
from fourtuple.load.stress.worker cimport Worker

cdef int _ROUNDS, _CONNECTIONS, _HELD, _MOST_HELD, _KERNEL_CHOICES, _REFUSED_PORTS, _MOST_SOCKETS
cdef int _SOCKET, _CONNECT, _RECEIVE
cdef int _AF_INET, _SOCK_STREAM, _SHUT_RDWR, _SOL_IP, _IP_LOCAL_PORT_RANGE, _EADDRNOTAVAIL, _ECONNREFUSED
cdef int _ADDRESS_SIZE, _PAUSE, _TRIES, _FREED, _TAKEN, _OUTSIDE

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
    cdef Lane _lane
    cdef int[::1] _ports

    @cython.locals(port=int, code=int)
    cdef int _connect(self, int fd, int place) noexcept nogil
    cdef void _reject(self, int port, int reason) noexcept nogil
    @cython.locals(port=int)
    cdef void _adopt(self, int fd, int place) noexcept nogil
    cdef void _close(self, int place) noexcept nogil
