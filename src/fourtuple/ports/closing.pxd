# C types of closing.py; see space.pxd.

cpdef bint keeps_time_wait(state, bint sent_fin_first) except -1
cpdef returned(bint reset, bint timestamps)
