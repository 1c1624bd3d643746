# The C library for compiled modules; libc.py says what each function does and is its stand-in elsewhere.

cdef extern from "<errno.h>" nogil:
    int errno

cdef extern from "<time.h>" nogil:
    cdef struct timespec:
        long tv_sec
        long tv_nsec
    int clock_gettime(int, timespec*)
    int nanosleep(const timespec*, timespec*)
    int CLOCK_MONOTONIC

cdef extern from "<unistd.h>" nogil:
    int c_close "close" (int)
    long syscall(long, ...)

cdef extern from "<sys/ioctl.h>" nogil:
    int ioctl(int, unsigned long, ...)
    unsigned long FIONREAD

cdef extern from "<sys/socket.h>" nogil:
    cdef struct sockaddr:
        pass
    cdef struct c_linger "linger":
        int l_onoff, l_linger
    int c_socket "socket" (int, int, int)
    int c_bind "bind" (int, const sockaddr*, unsigned int)
    int c_connect "connect" (int, const sockaddr*, unsigned int)
    int accept4(int, sockaddr*, unsigned int*, int)
    int c_shutdown "shutdown" (int, int)
    int getsockname(int, sockaddr*, unsigned int*)
    int getsockopt(int, int, int, void*, unsigned int*)
    int setsockopt(int, int, int, const void*, unsigned int)
    ssize_t c_send "send" (int, const void*, size_t, int)
    ssize_t c_recv "recv" (int, void*, size_t, int)
    int SOCK_CLOEXEC, SOCK_NONBLOCK, SOL_SOCKET, SO_ERROR, SO_LINGER, MSG_NOSIGNAL

cdef extern from "<netinet/in.h>" nogil:
    cdef struct sockaddr_in6:
        unsigned short sin6_port
    unsigned short ntohs(unsigned short)
    int IPPROTO_TCP, SOL_IP

cdef extern from "<netinet/tcp.h>" nogil:
    int TCP_INFO

cdef extern from "<sys/epoll.h>" nogil:
    cdef union epoll_data:
        unsigned long long u64
    cdef struct epoll_event:
        unsigned int events
        epoll_data data
    int epoll_create1(int)
    int epoll_ctl(int, int, int, epoll_event*)
    int epoll_wait(int, epoll_event*, int, int)
    int EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD

cdef inline long long _result(long long value) noexcept nogil:
    return -errno if value < 0 else value

cdef inline long long now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000000000LL + time.tv_nsec

cdef inline void pause(long long nanoseconds) noexcept nogil:
    cdef timespec length
    length.tv_sec = nanoseconds // 1000000000
    length.tv_nsec = nanoseconds % 1000000000
    nanosleep(&length, NULL)

cdef inline long long whole(double value) noexcept nogil:
    return <long long>value

# Sockets.

cdef inline int open_socket(int family, int type, int protocol) noexcept nogil:
    return <int>_result(c_socket(family, type | SOCK_CLOEXEC, protocol))

cdef inline int bind(int fd, const unsigned char[::1] addresses, int start, int size) noexcept nogil:
    return <int>_result(c_bind(fd, <const sockaddr*>&addresses[start], <unsigned int>size))

cdef inline int connect(int fd, const unsigned char[::1] addresses, int start, int size) noexcept nogil:
    return <int>_result(c_connect(fd, <const sockaddr*>&addresses[start], <unsigned int>size))

cdef inline int accept(int fd, int flags) noexcept nogil:
    return <int>_result(accept4(fd, NULL, NULL, flags | SOCK_CLOEXEC))

cdef inline int send(int fd, const unsigned char[::1] data, int start, int size, int flags) noexcept nogil:
    return <int>_result(c_send(fd, &data[start], size, flags | MSG_NOSIGNAL))

cdef inline int receive(int fd, unsigned char[::1] buffer, int start, int size, int flags) noexcept nogil:
    return <int>_result(c_recv(fd, &buffer[start], size, flags))

cdef inline int shutdown(int fd, int how) noexcept nogil:
    return <int>_result(c_shutdown(fd, how))

cdef inline int close(int fd) noexcept nogil:
    return <int>_result(c_close(fd))

cdef inline int local_port(int fd) noexcept nogil:
    # The port lies in the same place for IPv4.
    cdef sockaddr_in6 address
    cdef unsigned int size = sizeof(address)
    if getsockname(fd, <sockaddr*>&address, &size) < 0:
        return -errno
    return ntohs(address.sin6_port)

# Options of sockets.

cdef inline int set_option(
    int fd, int level, int name, const unsigned char[::1] values, int start, int size
) noexcept nogil:
    return <int>_result(setsockopt(fd, level, name, &values[start], <unsigned int>size))

cdef inline int set_number(int fd, int level, int name, int value) noexcept nogil:
    return <int>_result(setsockopt(fd, level, name, &value, sizeof(value)))

cdef inline int get_number(int fd, int level, int name) noexcept nogil:
    cdef int value = 0
    cdef unsigned int size = sizeof(value)
    if getsockopt(fd, level, name, &value, &size) < 0:
        return -errno
    return value

cdef inline int set_one_port(int fd, int port) noexcept nogil:
    cdef unsigned int bounds = <unsigned int>port << 16 | <unsigned int>port
    return <int>_result(setsockopt(fd, SOL_IP, 51, &bounds, sizeof(bounds)))  # IP_LOCAL_PORT_RANGE

cdef inline int set_reset_on_close(int fd) noexcept nogil:
    cdef c_linger option
    option.l_onoff = 1
    option.l_linger = 0
    return <int>_result(setsockopt(fd, SOL_SOCKET, SO_LINGER, &option, sizeof(option)))

cdef inline int resets_on_close(int fd) noexcept nogil:
    cdef c_linger option
    cdef unsigned int size = sizeof(option)
    if getsockopt(fd, SOL_SOCKET, SO_LINGER, &option, &size) < 0:
        return -errno
    return option.l_onoff and option.l_linger == 0

cdef inline int tcp_info_head(int fd) noexcept nogil:
    cdef unsigned char head[6]
    cdef unsigned int size = sizeof(head)
    if getsockopt(fd, IPPROTO_TCP, TCP_INFO, head, &size) < 0:
        return -errno
    return head[0] | head[5] << 8

cdef inline int pending_error(int fd) noexcept nogil:
    return get_number(fd, SOL_SOCKET, SO_ERROR)

cdef inline int unread_bytes(int fd) noexcept nogil:
    cdef int unread
    return -errno if ioctl(fd, FIONREAD, &unread) < 0 else unread

# epoll.

cdef inline int open_epoll() noexcept nogil:
    return <int>_result(epoll_create1(EPOLL_CLOEXEC))

cdef inline int watch(int epoll, int fd, unsigned int events, int slot) noexcept nogil:
    cdef epoll_event event
    event.events = events
    event.data.u64 = slot
    return <int>_result(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))

cdef inline int rewatch(int epoll, int fd, unsigned int events, int slot) noexcept nogil:
    cdef epoll_event event
    event.events = events
    event.data.u64 = slot
    return <int>_result(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event))

cdef inline int unwatch(int epoll, int fd) noexcept nogil:
    cdef epoll_event event
    return <int>_result(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event))

cdef inline int wait(int epoll, int[::1] slots, unsigned int[::1] events, long long timeout) noexcept nogil:
    cdef epoll_event found[256]
    cdef int most = min(256, <int>slots.shape[0])
    cdef timespec limit
    cdef int count, i
    if timeout > 0 and timeout % 1000000:
        # epoll_pwait2 (441 on every architecture): whole nanoseconds, from Linux 5.11.
        limit.tv_sec = timeout // 1000000000
        limit.tv_nsec = timeout % 1000000000
        count = <int>syscall(441, epoll, found, most, &limit, NULL, <size_t>0)
        if count < 0 and errno == 38:  # ENOSYS
            count = epoll_wait(epoll, found, most, <int>(timeout // 1000000))
    else:
        count = epoll_wait(epoll, found, most, <int>(timeout // 1000000) if timeout > 0 else <int>timeout)
    if count < 0:
        return -errno
    for i in range(count):
        slots[i] = <int>found[i].data.u64
        events[i] = found[i].events
    return count
