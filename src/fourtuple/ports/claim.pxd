# C types of claim.py; see space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
cimport fourtuple.linux.tcp_info as tcp_info
cimport fourtuple.ports.closing as closing
from fourtuple.ports.imposing cimport Imposer
from fourtuple.ports.shared cimport Lease, SharedSpace

@cython.final
cdef class Claim:
    cdef readonly object registry
    cdef readonly Lease lease
    cdef object _sources, _options
    cdef bint _address_bound, _own_port, _sent_fin_first, _detached

    cpdef connect(self, sock, address)
    cpdef close(self, sock, plain_close)
    cdef _destination(self, sock, address)
    @cython.locals(attempt=int, tries=int)
    cdef bint _propose(self, sock, destination, str source, SharedSpace space) except -1
    cdef _bind_source(self, sock, str source, SharedSpace space)
    @cython.locals(imposer=Imposer)
    cdef bint _try(self, sock, destination, str source, SharedSpace space, Lease lease) except -1
    cdef bint _leave_to_kernel(self, sock, destination, str source, SharedSpace space) except -1
    cdef _how(self, sock)
    cdef _end(self, how)
    cdef _reject(self, reason)
