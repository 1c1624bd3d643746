"""A ring: io_uring's queues as a loop uses them, for sockets that stand in the ring's own table.

Requests are asked for one by one and handed to the kernel together, when the loop waits. Those that can be fulfilled at
once are, in the order in which they were asked for: so a connection's socket, options, connect and send need no links
between them, which would cost a detour each. Where the kernel has to wait (for a handshake over a real network) it
waits for each by itself, and a send follows its connection all the same, since TCP does not send before.

A request has a *tag*, a number from 0 on that comes back with its result, as ``slot`` and ``event`` do from an epoll.
*Quiet* ones come back only when they fail. Memory is given by its address and has to stay until the request is over.

Numbers are those of ``linux/io_uring.h``. An option: 4232c6e349f3 ("io_uring/cmd: Introduce
SOCKET_URING_OP_SETSOCKOPT"); a bind: 7481fd93fa0a ("io_uring: Introduce IORING_OP_BIND").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fourtuple.linux import uring
from fourtuple.linux.uring import close_queues, enable, open_queues

if TYPE_CHECKING:
    from array import array

_REQUESTS = 1024
_COMPLETIONS = 8192

# Operation and flags, as the first bytes of a request have them: IOSQE_FIXED_FILE is 1 << 8, _IO_LINK 1 << 10 and
# _CQE_SKIP_SUCCESS 1 << 14; IORING_ACCEPT_MULTISHOT and IORING_RECVSEND_POLL_FIRST are 1 << 16.
_QUIET = 1 << 14
_SOCKET = 45 | 1 << 14
_OPTION = 46 | 1 << 8 | 1 << 14
_BIND = 56 | 1 << 8 | 1 << 14
_CONNECT = 16 | 1 << 8
_SEND = 26 | 1 << 8
_RECEIVE = 27 | 1 << 8 | 1 << 16
_RECEIVE_LINKED = 27 | 1 << 8 | 1 << 10 | 1 << 14
_CLOSE = 19 | 1 << 14
_ACCEPT = 13 | 1 << 16

_SET_OPTION = 3  # SOCKET_URING_OP_SETSOCKOPT
_ALL = 0x100 << 32  # MSG_WAITALL: a part is no result
_ANY_PLACE = 0xFFFFFFFF  # IORING_FILE_INDEX_ALLOC
_STREAM = 1
_MORE = 1 << 1  # IORING_CQE_F_MORE
_WORD = 0xFFFFFFFF
_SIGN = 1 << 31


class Ring:
    """Queues, and a table of ``files`` sockets, which requests name by their index.

    `enable` is for the thread of the loop, and so is all that follows. Raises what `fourtuple.linux.uring.open_queues`
    raises.
    """

    def __init__(self, files: int) -> None:
        self._queues = open_queues(_REQUESTS, _COMPLETIONS, files)
        self._number = -1
        self._closed = False
        self._words = self._queues.words
        self._requests = self._queues.requests
        self._completions = self._queues.completions
        self._request_mask = self._queues.capacity - 1
        self._completion_mask = self._queues.completion_capacity - 1
        self._request_head = self._queues.request_head
        self._request_tail = self._queues.request_tail
        self._completion_head = self._queues.completion_head
        self._completion_tail = self._queues.completion_tail

    def enable(self) -> None:
        """Bind the ring to the calling thread."""
        self._number = enable(self._queues)

    def close(self) -> None:
        """Give everything back; the ring must not be used any more."""
        if not self._closed:
            self._closed = True
            close_queues(self._queues)

    def wait(self, tags: array[int], results: array[int], timeout: int) -> int:
        """Hand over what was asked for and wait ``timeout`` nanoseconds at most; how many are over.

        Their tags and results, which `signed` reads, stand in the arrays. The tag of a request that goes on comes as
        ``~tag``.
        """
        head = self._words[self._completion_head]
        waiting = head == self._words[self._completion_tail]
        if waiting or self._unsent():
            uring.enter(self._number, self._unsent(), 1 if waiting else 0, timeout)
        tail = self._words[self._completion_tail]
        count = 0
        while head != tail and count < len(tags):
            place = 2 * (head & self._completion_mask)
            tag = self._completions[place]
            results[count] = self._completions[place + 1] & _WORD
            tags[count] = ~tag if self._completions[place + 1] >> 32 & _MORE else tag
            head = head + 1 & _WORD
            count += 1
        self._words[self._completion_head] = head
        return count

    def submit(self) -> None:
        """Hand over what was asked for without waiting."""
        uring.enter(self._number, self._unsent(), 0, 0)

    # Requests.

    def open_socket(self, index: int, family: int, tag: int) -> None:
        """A TCP socket at the index, quietly; one that stands there is closed."""
        self._ask(_SOCKET | family << 32, _STREAM, 0, 0, tag, index + 1, 0)

    def set_option(self, index: int, level: int, name: int, value: int, size: int, tag: int) -> None:
        """setsockopt(), quietly; ``value`` is an address."""
        self._ask(_OPTION | index << 32, _SET_OPTION, level | name << 32, 0, tag, size, value)

    def bind(self, index: int, address: int, size: int, tag: int) -> None:
        """bind(), quietly."""
        self._ask(_BIND | index << 32, size, address, 0, tag, 0, 0)

    def connect(self, index: int, address: int, size: int, tag: int) -> None:
        """connect()."""
        self._ask(_CONNECT | index << 32, size, address, 0, tag, 0, 0)

    def connect_quietly(self, index: int, address: int, size: int, tag: int) -> None:
        """connect(), quietly."""
        self._ask(_CONNECT | _QUIET | index << 32, size, address, 0, tag, 0, 0)

    def send(self, index: int, data: int, size: int, tag: int) -> None:
        """send() of all, quietly."""
        self._ask(_SEND | _QUIET | index << 32, 0, data, size | _ALL, tag, 0, 0)

    def receive(self, index: int, data: int, size: int, tag: int) -> None:
        """recv() of all, once there is something; fewer bytes come back where the connection ends."""
        self._ask(_RECEIVE | index << 32, 0, data, size | _ALL, tag, 0, 0)

    def receive_then_send(self, index: int, data: int, received: int, sent: int, tag: int, sent_tag: int) -> None:
        """recv() of all, quietly, then send() of all. Where the first fails, the second is dropped and stays silent."""
        self._make_room(2)
        self._ask(_RECEIVE_LINKED | index << 32, 0, data, received | _ALL, tag, 0, 0)
        self._ask(_SEND | index << 32, 0, data, sent | _ALL, sent_tag, 0, 0)

    def accept(self, listener: int, tag: int) -> None:
        """Accept connections, each to a free index, its result, until there is none (ENFILE) or the request fails.

        ``listener`` is a descriptor, not an index.
        """
        self._ask(_ACCEPT | listener << 32, 0, 0, 0, tag, _ANY_PLACE, 0)

    def close_socket(self, index: int, tag: int) -> None:
        """close(), quietly. Requests that are under way hold the connection until they are over."""
        self._ask(_CLOSE, 0, 0, 0, tag, index + 1, 0)

    def _ask(self, head: int, offset: int, address: int, size: int, tag: int, file: int, extra: int) -> None:
        # A request, whose 8 words all have to be written: the place was another's before.
        self._make_room(1)
        tail = self._words[self._request_tail]
        place = 8 * (tail & self._request_mask)
        self._requests[place] = head
        self._requests[place + 1] = offset
        self._requests[place + 2] = address
        self._requests[place + 3] = size
        self._requests[place + 4] = tag
        self._requests[place + 5] = file << 32
        self._requests[place + 6] = extra
        self._requests[place + 7] = 0
        self._words[self._request_tail] = tail + 1 & _WORD

    def _make_room(self, count: int) -> None:
        while self._unsent() + count > self._request_mask + 1:
            self.submit()

    def _unsent(self) -> int:
        return self._words[self._request_tail] - self._words[self._request_head] & _WORD


def signed(result: int) -> int:
    """A result of `Ring.wait`: what the request returned, or -errno."""
    return (result ^ _SIGN) - _SIGN
