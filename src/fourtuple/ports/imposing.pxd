# C types of imposing.py; see space.pxd.

cimport fourtuple.linux.clibc as libc

cdef class Imposer:
    cpdef impose(self, sock, int fd, str source, int port)

cdef class RangeImposer(Imposer):
    pass

cdef class BindImposer(Imposer):
    pass
