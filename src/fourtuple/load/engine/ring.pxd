# C types of ring.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.curing as uring

cdef unsigned long long _QUIET, _SOCKET, _OPTION, _BIND, _CONNECT, _SEND, _RECEIVE, _RECEIVE_LINKED
cdef unsigned long long _CLOSE, _ACCEPT, _SET_OPTION, _ALL, _ANY_PLACE, _STREAM, _MORE
cdef unsigned int _WORD
cdef long long _SIGN

@cython.final
cdef class Ring:
    cdef object _queues
    cdef int _number
    cdef bint _closed
    cdef unsigned int[::1] _words
    cdef unsigned long long[::1] _requests, _completions
    cdef unsigned int _request_mask, _completion_mask
    cdef int _request_head, _request_tail, _completion_head, _completion_tail

    @cython.locals(head="unsigned int", tail="unsigned int", waiting=bint, count=int, place=int, tag=int)
    cdef int wait(self, int[::1] tags, unsigned int[::1] results, long long timeout) noexcept nogil
    cdef void submit(self) noexcept nogil
    cdef void open_socket(
        self, unsigned long long index, unsigned long long family, unsigned long long tag
    ) noexcept nogil
    cdef void set_option(
        self,
        unsigned long long index,
        unsigned long long level,
        unsigned long long name,
        unsigned long long value,
        unsigned long long size,
        unsigned long long tag,
    ) noexcept nogil
    cdef void bind(
        self, unsigned long long index, unsigned long long address, unsigned long long size, unsigned long long tag
    ) noexcept nogil
    cdef void connect(
        self, unsigned long long index, unsigned long long address, unsigned long long size, unsigned long long tag
    ) noexcept nogil
    cdef void connect_quietly(
        self, unsigned long long index, unsigned long long address, unsigned long long size, unsigned long long tag
    ) noexcept nogil
    cdef void send(
        self, unsigned long long index, unsigned long long data, unsigned long long size, unsigned long long tag
    ) noexcept nogil
    cdef void receive(
        self, unsigned long long index, unsigned long long data, unsigned long long size, unsigned long long tag
    ) noexcept nogil
    cdef void receive_then_send(
        self,
        unsigned long long index,
        unsigned long long data,
        unsigned long long received,
        unsigned long long sent,
        unsigned long long tag,
        unsigned long long sent_tag,
    ) noexcept nogil
    cdef void accept(self, unsigned long long listener, unsigned long long tag) noexcept nogil
    cdef void close_socket(self, unsigned long long index, unsigned long long tag) noexcept nogil
    @cython.locals(tail="unsigned int", place=int)
    cdef void _ask(
        self,
        unsigned long long head,
        unsigned long long offset,
        unsigned long long address,
        unsigned long long size,
        unsigned long long tag,
        unsigned long long file,
        unsigned long long extra,
    ) noexcept nogil
    cdef void _make_room(self, unsigned int count) noexcept nogil
    cdef unsigned int _unsent(self) noexcept nogil

cpdef int signed(unsigned int result) noexcept nogil
