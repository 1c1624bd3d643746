# C types of tables.py; see ports/space.pxd.

cimport cython

cimport fourtuple.model.clayout as layout
from fourtuple.model.hashes cimport jhash_1word, jhash_3words

cdef unsigned int _V4, _32
cdef int _ADDITIVE, _ONCE, _LOCK_BIND, _LOCK_ESTABLISHED, _WALK_BIND, _WALK_ESTABLISHED
cdef int _HASH_FOR, _TOUCH_LINE, _TOUCH_RECORD

@cython.final
cdef class Tables:
    cdef readonly unsigned int bind_mask, established_mask, lock_mask
    cdef readonly unsigned int address_line, established_line, lock_line, hint_line
    cdef readonly unsigned int local, remote, remote_port, netns, device, master, netns_mix
    cdef unsigned int _secret, _secret_six, _base
    cdef unsigned long long _addresses, _realm, _ports, _bucket_realm
    cdef unsigned long long[::1] _pairs
    cdef int _hash_kind
    cdef unsigned int _spare, _used, _free
    cdef unsigned int operation
    cdef unsigned int[::1] pool, bind, established, _stamps
    cdef public unsigned int[::1] words
    cdef public list steps
    cdef public bint recording
    cdef public long long candidates, reserved, bind_locks, address_locks, established_locks, rcu_walks
    cdef public long long bind_nodes, owner_nodes, established_nodes, hashes, slot_lines, record_lines
    cdef public long long allocated, freed, reschedules

    cpdef void begin(self) except *
    cdef void clear(self) noexcept nogil
    @cython.locals(at="unsigned int")
    cpdef bint is_loopback(self, unsigned int address) noexcept nogil
    cpdef bint is_four(self, unsigned int address) noexcept nogil
    cpdef unsigned int read(self, unsigned int record, unsigned int field) noexcept nogil
    cpdef void write(self, unsigned int record, unsigned int field, unsigned int value) noexcept nogil
    @cython.locals(record="unsigned int", field="unsigned int")
    cpdef unsigned int make(self) noexcept nogil
    cpdef void drop(self, unsigned int record) noexcept nogil
    cdef inline void note(self, int action, unsigned int number) noexcept nogil
    cdef inline void touch(self, unsigned int line) noexcept nogil
    @cython.locals(first="unsigned int", place=int)
    cdef void touch_slots(self, unsigned int port, unsigned int slot) noexcept nogil
    cdef inline void touch_record(self, unsigned int record) noexcept nogil
    cpdef unsigned int mix(self, unsigned int netns) noexcept nogil
    cpdef unsigned int bind_slot(self, unsigned int port, unsigned int netns) noexcept nogil
    cpdef void lock_bind(self, unsigned int slot) noexcept nogil
    cpdef void lock_established(self, unsigned int hashed) noexcept nogil
    cpdef void prepare(self) noexcept nogil
    cpdef void aim(self, unsigned int sock) noexcept nogil
    @cython.locals(
        here="unsigned int",
        there="unsigned int",
        ports="unsigned int",
        salt="unsigned int",
        first="unsigned int",
        far="unsigned int",
    )
    cpdef unsigned int whole_hash(self, unsigned int port) noexcept nogil
    cdef inline unsigned int hash(self, unsigned int port) noexcept nogil
    cdef inline bint poisoned(self, unsigned int bucket) noexcept nogil
    @cython.locals(bucket="unsigned int")
    cpdef bint seen_taken(self, unsigned int slot, unsigned int port) noexcept nogil
    @cython.locals(slot="unsigned int", found="unsigned int")
    cdef inline bint seen_live(self, unsigned int port, unsigned int hashed) noexcept nogil
    @cython.locals(state="unsigned int")
    cdef inline bint in_time_wait(self, unsigned int record) noexcept nogil
    @cython.locals(node="unsigned int", at="unsigned int", ports="unsigned long long")
    cdef inline unsigned int find(self, unsigned int port, unsigned int hashed) noexcept nogil
    cpdef unsigned int find_bucket(self, unsigned int slot, unsigned int port) noexcept nogil
    @cython.locals(bucket="unsigned int")
    cdef inline unsigned int _walk_bind(self, unsigned int slot, unsigned int port) noexcept nogil
    @cython.locals(slot="unsigned int")
    cpdef void enter(self, unsigned int sock, unsigned int hashed) noexcept nogil
    @cython.locals(slot="unsigned int", after="unsigned int", node="unsigned int")
    cpdef void leave(self, unsigned int sock) noexcept nogil
    cdef void _append(self, int action, unsigned int number) noexcept with gil
