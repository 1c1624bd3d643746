# C types of client.py; see ports/space.pxd.

cimport cython

cimport fourtuple.linux.clibc as libc
from fourtuple.load.engine.arrivals cimport Arrivals
from fourtuple.load.engine.chooser cimport PortChooser
from fourtuple.load.engine.histogram cimport Histogram
from fourtuple.load.engine.loop cimport Loop
from fourtuple.load.engine.options cimport SocketOptions

cdef unsigned int _IN, _OUT
cdef int _EAGAIN, _EINPROGRESS
cdef int _SOL_IP, _IP_BIND_ADDRESS_NO_PORT, _STREAM
cdef int _FREED, _TIME_WAIT, _TIME_WAIT_KEPT, _CLOSE_WAIT

cdef class Client(Loop):
    cdef readonly int flows, alive, log
    cdef readonly int[::1] logged
    cdef readonly long long[::1] log_moments, log_latencies
    cdef readonly unsigned long long limit, transactions
    cdef readonly Histogram latency, connecting, requesting, closing
    cdef readonly unsigned long long[::1] done
    cdef readonly Arrivals arrivals
    cdef bint _open_loop, _reset, _chooses
    cdef int _family, _address_size, _destinations, _sources, _idle_count
    cdef const unsigned char[::1] _addresses
    cdef int[::1] _destination_of, _source_of, _fd, _port, _idle
    cdef long long[::1] _begun, _dialled
    cdef PortChooser _chooser
    cdef SocketOptions _options

    cdef bint _awaits_connection(self, int slot) noexcept nogil
    cdef void _begin(self, int slot) noexcept nogil
    @cython.locals(place="long long")
    cdef void _count(self, int slot, long long moment) noexcept nogil
    cdef void _go_on(self, int slot, long long moment) noexcept nogil
    cdef void _die(self, int slot, int code) noexcept nogil
    @cython.locals(moment="long long", slot=int)
    cdef void _start(self) noexcept nogil
    cdef void _set_off(self) noexcept nogil
    @cython.locals(moment="long long", slot=int)
    cdef long long _pass_time(self) noexcept nogil
    cdef void _admit(self, int slot, long long moment) noexcept nogil
    @cython.locals(slot=int)
    cdef void _finish(self) noexcept nogil
    @cython.locals(fd=int, code=int)
    cdef int _dial(self, int slot) noexcept nogil
    @cython.locals(code=int, source=int, start=int)
    cdef int _prepare(self, int fd, int slot) noexcept nogil
    @cython.locals(start=int, code=int)
    cdef int _connect(self, int fd, int slot) noexcept nogil
    @cython.locals(fd=int, port=int, how=int)
    cdef void _hang_up(self, int slot) noexcept nogil
    @cython.locals(head=int, state=int)
    cdef int _how(self, int fd) noexcept nogil
    cdef int _lane(self, int slot) noexcept nogil
