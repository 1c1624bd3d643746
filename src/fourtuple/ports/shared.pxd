# C types of shared.py; see space.pxd.

cimport cython

from fourtuple.ports.space cimport Loan, PortSpace

cdef int _DETACHED

@cython.final
cdef class Lease(Loan):
    cdef readonly SharedSpace space

    cpdef release(self, int how)
    cpdef reject(self, int reason)

@cython.final
cdef class SharedSpace:
    cdef readonly str source, destination
    cdef readonly bint loopback
    cdef readonly object counts
    cdef object _settings_cache, _clock, _lock, _settings, _most
    cdef bint _explicit_bind
    cdef PortSpace _space
    cdef double _check_at, _last_end
    cdef int _admitted

    @cython.locals(now=double)
    cpdef Lease take(self)
    cpdef Lease adopt(self, int port)
    @cython.locals(now=double)
    cpdef release(self, Lease lease, int how)
    @cython.locals(now=double)
    cpdef reject(self, Lease lease, int reason)
    cdef Lease _lease_within_limit(self, double now)
    cdef Lease _lease(self, double now)
