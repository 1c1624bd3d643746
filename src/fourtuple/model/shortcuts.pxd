# C types of shortcuts.py; see ports/space.pxd.

cimport cython

from fourtuple.model.tables cimport Tables

cdef int CANDIDATES, _SPAN, _BLOCKS

@cython.final
cdef class Shortcuts:
    cdef Tables _tables
    cdef unsigned char[::1] _known
    cdef unsigned int[::1] _bind_nodes, _established_nodes, _hashes, _record_lines
    cdef int _walked
    cdef unsigned int _end
    cdef long long _walks, _locks, _nodes, _sockets, _runs, _lines

    cdef void start(self) noexcept nogil
    @cython.locals(block="unsigned int")
    cdef bint passed(self, unsigned int port, unsigned int slot) noexcept nogil
    cdef void forget(self, unsigned int slot) noexcept nogil
    cdef inline void _begin(self, unsigned int port, unsigned int block) noexcept nogil
    @cython.locals(block=int)
    cdef inline void _finish(self, unsigned int port) noexcept nogil
