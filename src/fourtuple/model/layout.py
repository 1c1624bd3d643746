"""Where the words of a record lie. All records are 16 words of 32 bits: a cache line, a little less than in the kernel.

A record is named by its number; 0 is no record. The compiled modules take the same constants from clayout.pxd.
"""

from __future__ import annotations

SHIFT = 4  # record << SHIFT is the first word
FREE = 0  # what a look for a four-tuple answers: nobody has it
TAKEN = 1  # somebody has it. Any other answer is the TIME_WAIT record that may be replaced
FIRST = 2  # so the first record has this number

# Two words at once, of which the second is the upper half: record << PAIRS is the first pair.
PAIRS = 3
ADDRESSES = 1  # LOCAL, REMOTE
PORTS = 2  # LOCAL_PORT, REMOTE_PORT
REALM = 3  # NETNS, DEVICE
BUCKET_REALM = 1  # BUCKET_NETNS, L3MDEV
FAST = 2  # FAST_REUSE, FAST_REUSEPORT

# Every record.
NEXT = 0  # in the chain of its hash table
STAMP = 15  # the operation that touched it last

# A socket, also one in TIME_WAIT.
HASH = 1
LOCAL = 2  # address numbers
REMOTE = 3
LOCAL_PORT = 4
REMOTE_PORT = 5
NETNS = 6
DEVICE = 7  # SO_BINDTODEVICE, 0 for none
STATE = 8
FLAGS = 9
OWNED = 10  # the address bucket it owns a share of
LATER = 11  # among the owners of that bucket
EARLIER = 12
ENTERED = 13  # milliseconds, when it entered TIME_WAIT
MASTER = 14  # the l3mdev that its device belongs to

# A bind bucket: a port. The fast fields are stored with 1 added, so that 0 is the kernel's -1.
PORT = 1
BUCKET_NETNS = 2
L3MDEV = 3
FAST_REUSE = 4
FAST_REUSEPORT = 5
ADDRESS_BUCKETS = 6
FAST_ADDRESS = 7
FAST_FLAGS = 8

# An address bucket: a port and an address, within its bind bucket. Shares PORT, BUCKET_NETNS and L3MDEV.
ADDRESS = 4
BUCKET = 5
OWNERS = 6
SIBLING = 7

# STATE: TCP states by their numbers in the kernel.
ESTABLISHED = 1
FIN_WAIT2 = 5  # of a record in TIME_WAIT's table whose peer has not closed yet
TIME_WAIT = 6
CLOSED = 7
CLOSE_WAIT = 8
LISTEN = 10

# FLAGS.
REUSE = 1  # SO_REUSEADDR
REUSEPORT = 2
ONLY_SIX = 4  # IPV6_V6ONLY
CONNECT_BOUND = 8  # connect() chose its port
TIMESTAMPS = 16  # TCP timestamps were in use on the connection

# An address in Tables.words: four words and its family.
ADDRESS_WORDS = 5
FAMILY = 4
