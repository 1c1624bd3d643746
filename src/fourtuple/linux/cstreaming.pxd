# What streams ask of the C library; streaming.py says what each function does and is its stand-in elsewhere.

cdef extern from "<errno.h>" nogil:
    int errno
    int EAGAIN

cdef extern from "<string.h>" nogil:
    void* memset(void*, int, size_t)

cdef extern from "<sys/mman.h>" nogil:
    void* mmap(void*, size_t, int, int, int, long)
    int munmap(void*, size_t)
    int PROT_READ, MAP_SHARED
    void* MAP_FAILED

cdef extern from "<sys/socket.h>" nogil:
    cdef struct msghdr:
        void* msg_control
        size_t msg_controllen
    cdef struct cmsghdr:
        int cmsg_level, cmsg_type
    ssize_t recvmsg(int, msghdr*, int)
    cmsghdr* CMSG_FIRSTHDR(msghdr*)
    cmsghdr* CMSG_NXTHDR(msghdr*, cmsghdr*)
    unsigned char* CMSG_DATA(cmsghdr*)
    int getsockopt(int, int, int, void*, unsigned int*)
    int MSG_ERRQUEUE, MSG_DONTWAIT

cdef extern from "<netinet/in.h>" nogil:
    int IPPROTO_TCP, SOL_IP, SOL_IPV6, IP_RECVERR, IPV6_RECVERR

cdef extern from "<linux/errqueue.h>" nogil:
    cdef struct sock_extended_err:
        unsigned char ee_origin, ee_code
        unsigned int ee_info, ee_data
    int SO_EE_ORIGIN_ZEROCOPY, SO_EE_CODE_ZEROCOPY_COPIED

# Not that of <linux/tcp.h>, which goes with no <netinet/tcp.h>: this one is older than the last fields.
cdef packed struct tcp_receive:
    unsigned long long address
    unsigned int length, recv_skip_hint, inq
    int err
    unsigned long long copybuf_address
    int copybuf_len
    unsigned int flags

cdef inline int reap(int fd, unsigned long long[::1] sends) noexcept nogil:
    cdef unsigned char control[128]
    cdef msghdr message
    cdef cmsghdr* header
    cdef sock_extended_err* error
    memset(&message, 0, sizeof(message))
    message.msg_control = control
    message.msg_controllen = sizeof(control)
    if recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0:
        return 0 if errno == EAGAIN else -errno
    header = CMSG_FIRSTHDR(&message)
    while header != NULL:
        if (header.cmsg_level == SOL_IP and header.cmsg_type == IP_RECVERR) or (
            header.cmsg_level == SOL_IPV6 and header.cmsg_type == IPV6_RECVERR
        ):
            error = <sock_extended_err*>CMSG_DATA(header)
            if error.ee_origin == SO_EE_ORIGIN_ZEROCOPY:
                # Numbers of 32 bits, which begin anew.
                sends[error.ee_code & SO_EE_CODE_ZEROCOPY_COPIED] += <unsigned int>(error.ee_data - error.ee_info + 1)
        header = CMSG_NXTHDR(&message, header)
    return 1

cdef inline long long map_receiver(int fd, long long size) noexcept nogil:
    cdef void* address = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0)
    return -errno if address == MAP_FAILED else <long long>address

cdef inline int unmap(long long address, long long size) noexcept nogil:
    return -errno if munmap(<void*>address, size) < 0 else 0

cdef inline int receive_mapped(
    int fd, long long address, int size, unsigned char[::1] buffer, int[::1] result
) noexcept nogil:
    cdef tcp_receive request
    cdef unsigned int length = sizeof(request)
    memset(&request, 0, sizeof(request))
    request.address = address
    request.length = size
    request.copybuf_address = <unsigned long long>&buffer[0]
    request.copybuf_len = min(<int>buffer.shape[0], 4095)
    if getsockopt(fd, IPPROTO_TCP, 35, &request, &length) < 0:  # TCP_ZEROCOPY_RECEIVE
        return -errno
    result[0] = request.length
    result[1] = max(0, request.copybuf_len)
    result[2] = request.recv_skip_hint
    return 0
