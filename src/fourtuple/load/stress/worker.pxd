# C types of worker.py; see ports/space.pxd.

cdef int _FIGURES, _ERRNOS

cdef class Worker:
    cdef long long[::1] _cells
    cdef long long _most

    cdef void _repeat(self) noexcept nogil
    cdef void _step(self) noexcept nogil
    cdef void _fail(self, int operation, int code) noexcept nogil
