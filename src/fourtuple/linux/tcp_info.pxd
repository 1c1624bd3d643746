# C types of tcp_info.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc

@cython.locals(head=int)
cpdef read(sock)
@cython.locals(unread=int)
cpdef int unread_bytes(sock) except -1
@cython.locals(resets=int)
cpdef bint resets_on_close(sock) except -1
