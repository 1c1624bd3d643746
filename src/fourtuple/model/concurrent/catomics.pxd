# Atomic access for compiled modules; atomics.py says what each function does and is its stand-in elsewhere.

from libc.stdint cimport uint64_t

cdef extern from * nogil:
    int __ATOMIC_ACQUIRE, __ATOMIC_RELEASE, __ATOMIC_RELAXED, __ATOMIC_SEQ_CST
    uint64_t __atomic_load_n(uint64_t*, int)
    void __atomic_store_n(uint64_t*, uint64_t, int)
    uint64_t __atomic_exchange_n(uint64_t*, uint64_t, int)
    uint64_t __atomic_fetch_add(uint64_t*, uint64_t, int)
    bint __atomic_compare_exchange_n(uint64_t*, uint64_t*, uint64_t, bint, int, int)

cdef extern from "<sched.h>" nogil:
    int sched_yield()

ctypedef uint64_t* words_pointer

cdef inline words_pointer words(uint64_t[::1] memory) noexcept:
    return &memory[0]

cdef inline uint64_t load(words_pointer words, long long place) noexcept nogil:
    return __atomic_load_n(words + place, __ATOMIC_SEQ_CST)

cdef inline void store(words_pointer words, long long place, uint64_t value) noexcept nogil:
    __atomic_store_n(words + place, value, __ATOMIC_SEQ_CST)

cdef inline void release(words_pointer words, long long place, uint64_t value) noexcept nogil:
    __atomic_store_n(words + place, value, __ATOMIC_RELEASE)

cdef inline uint64_t exchange(words_pointer words, long long place, uint64_t value) noexcept nogil:
    return __atomic_exchange_n(words + place, value, __ATOMIC_SEQ_CST)

cdef inline uint64_t add(words_pointer words, long long place, uint64_t value) noexcept nogil:
    return __atomic_fetch_add(words + place, value, __ATOMIC_SEQ_CST)

cdef inline bint replace(words_pointer words, long long place, uint64_t old, uint64_t new) noexcept nogil:
    return __atomic_compare_exchange_n(words + place, &old, new, False, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

cdef inline void lock(words_pointer words, long long place) noexcept nogil:
    cdef int looks = 0
    while __atomic_exchange_n(words + place, 1, __ATOMIC_ACQUIRE):
        while __atomic_load_n(words + place, __ATOMIC_RELAXED):
            looks += 1
            if looks % 64 == 0:
                sched_yield()

cdef inline void unlock(words_pointer words, long long place) noexcept nogil:
    __atomic_store_n(words + place, 0, __ATOMIC_RELEASE)
