# C types of chooser.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.lanes cimport Lane

cdef int _TRIES, _EADDRNOTAVAIL, _EINPROGRESS, _SOL_IP, _IP_LOCAL_PORT_RANGE, _FREED, _TAKEN, _OUTSIDE

@cython.final
cdef class PortChooser:
    cdef readonly int port
    cdef readonly unsigned long long kernel_choices, refused_ports
    cdef Lane _lanes

    @cython.locals(port=int, code=int)
    cdef int connect(self, int lane, int fd, const unsigned char[::1] addresses, int start, int size) noexcept nogil
    cdef void release(self, int lane, int port, int how) noexcept nogil
    cdef void _reject(self, int lane, int port, int reason) noexcept nogil
    @cython.locals(port=int)
    cdef void _adopt(self, int lane, int fd) noexcept nogil
