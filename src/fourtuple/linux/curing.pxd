# io_uring's one call for compiled loops; uring.py says what it does and is its stand-in elsewhere.

cdef extern from "<errno.h>" nogil:
    int errno

cdef extern from "<unistd.h>" nogil:
    long syscall(long, ...)

cdef extern from "<time.h>" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec

cdef struct Wait:
    # struct io_uring_getevents_arg
    unsigned long long signals
    unsigned int signals_size, least
    unsigned long long time

cdef inline int enter(int number, unsigned int requests, unsigned int completions, long long timeout) noexcept nogil:
    cdef timespec time
    cdef Wait wait
    time.tv_sec = timeout // 1000000000
    time.tv_nsec = timeout % 1000000000
    wait.signals = 0
    wait.signals_size = 0
    wait.least = 0
    wait.time = <unsigned long long><size_t>&time
    # GETEVENTS, EXT_ARG, REGISTERED_RING
    cdef long taken = syscall(426, number, requests, completions, 1 | 8 | 16, &wait, sizeof(wait))
    return -errno if taken < 0 else <int>taken
