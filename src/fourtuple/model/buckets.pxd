# C types of buckets.py; see ports/space.pxd.

cimport cython

cimport fourtuple.model.clayout as layout
from fourtuple.model.hashes cimport jhash_1word, jhash_4words
from fourtuple.model.tables cimport Tables

cdef int _LOCK_ADDRESS, _HASH_FOR, _MAKE, _FREE_BUCKET

@cython.final
cdef class Buckets:
    cdef Tables _tables
    cdef unsigned int[::1] _slots
    cdef bint _address_buckets, _restored_buckets

    @cython.locals(at="unsigned int", hashed="unsigned int")
    cpdef unsigned int address_slot(self, unsigned int port, unsigned int address, unsigned int netns) noexcept nogil
    cpdef void lock_address(self, unsigned int slot) noexcept nogil
    @cython.locals(bucket="unsigned int")
    cpdef unsigned int make_bucket(
        self, unsigned int slot, unsigned int port, unsigned int netns, unsigned int master
    ) noexcept nogil
    @cython.locals(
        port="unsigned int", netns="unsigned int", address="unsigned int", slot="unsigned int", part="unsigned int"
    )
    cpdef void share(self, unsigned int sock, unsigned int bucket) noexcept nogil
    @cython.locals(part="unsigned int", bucket="unsigned int", old="unsigned int", port="unsigned int")
    cpdef void move(self, unsigned int sock, unsigned int address) noexcept nogil
    @cython.locals(
        part="unsigned int",
        bucket="unsigned int",
        port="unsigned int",
        netns="unsigned int",
        slot="unsigned int",
        address_slot="unsigned int",
    )
    cpdef void release(self, unsigned int sock) noexcept nogil
    cpdef void visit_owner(self, unsigned int owner) noexcept nogil
    @cython.locals(first="unsigned int")
    cpdef void own(self, unsigned int sock, unsigned int part) noexcept nogil
    @cython.locals(later="unsigned int", earlier="unsigned int")
    cpdef void disown(self, unsigned int sock) noexcept nogil
    @cython.locals(node="unsigned int")
    cdef void _destroy_part(self, unsigned int part, unsigned int bucket, unsigned int slot) noexcept nogil
    @cython.locals(node="unsigned int")
    cdef void _destroy_bucket(self, unsigned int bucket, unsigned int slot) noexcept nogil
    @cython.locals(part="unsigned int", owner="unsigned int")
    cdef void _restore(self, unsigned int bucket) noexcept nogil
