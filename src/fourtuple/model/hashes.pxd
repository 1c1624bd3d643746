# C types of hashes.py; see ports/space.pxd. Its masks do nothing to words of C.

cimport cython

cdef unsigned int _JHASH_INITVAL, _GOLDEN_RATIO_32, _32
cdef unsigned long long _64, _SIP0, _SIP1, _SIP2, _SIP3

cpdef unsigned int hash_32(unsigned int value, int bits) noexcept nogil
@cython.locals(start="unsigned int")
cpdef unsigned int jhash_3words(unsigned int a, unsigned int b, unsigned int c, unsigned int initval) noexcept nogil
@cython.locals(start="unsigned int")
cpdef unsigned int jhash_1word(unsigned int a, unsigned int initval) noexcept nogil
@cython.locals(start="unsigned int")
cpdef unsigned int jhash_4words(
    unsigned int a, unsigned int b, unsigned int c, unsigned int d, unsigned int initval
) noexcept nogil
@cython.locals(
    v0="unsigned long long",
    v1="unsigned long long",
    v2="unsigned long long",
    v3="unsigned long long",
    rest="unsigned long long",
    word="unsigned long long",
    count=int,
    block=int,
)
cpdef unsigned long long siphash(
    unsigned long long[::1] words,
    unsigned long long last,
    unsigned long long length,
    unsigned long long key0,
    unsigned long long key1,
) noexcept
cdef unsigned int _rotated(unsigned int word, int by) noexcept nogil
cdef unsigned int _jhash_final(unsigned int a, unsigned int b, unsigned int c) noexcept nogil
