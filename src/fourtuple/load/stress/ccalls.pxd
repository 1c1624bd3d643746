# The C library for the stressors; calls.py says what each function does and is its stand-in elsewhere.

cdef extern from "<errno.h>" nogil:
    int errno

cdef extern from "<time.h>" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec
    int nanosleep(const timespec*, timespec*)

cdef extern from "<sys/socket.h>" nogil:
    int getsockopt(int, int, int, void*, unsigned int*)

cdef inline int get_option(int fd, int level, int name) noexcept nogil:
    cdef int value = 0
    cdef unsigned int size = sizeof(value)
    if getsockopt(fd, level, name, &value, &size) < 0:
        return -errno
    return value

cdef inline void pause(int nanoseconds) noexcept nogil:
    cdef timespec wait
    wait.tv_sec = 0
    wait.tv_nsec = nanoseconds
    nanosleep(&wait, NULL)
