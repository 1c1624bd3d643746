"""How a port comes back when its socket is closed: who closed first decides.

The side that sends the first FIN keeps the four-tuple in TIME_WAIT, the other side is rid of it when its own FIN is
acknowledged (RFC 9293, section 3.6). A side that closes with data unread, or with SO_LINGER at 0 seconds, sends RST
instead and keeps nothing (RFC 2525, section 2.17). All of it can be read from the socket just before the close.
"""

from __future__ import annotations

from fourtuple.linux.tcp_info import TcpState

from .space import How

# Closing in these states sends, or has sent, the first FIN.
_FIRST = frozenset(
    {
        TcpState.ESTABLISHED,
        TcpState.SYN_RECV,
        TcpState.FIN_WAIT1,
        TcpState.FIN_WAIT2,
        TcpState.CLOSING,
        TcpState.TIME_WAIT,
    }
)


def keeps_time_wait(state: TcpState, *, sent_fin_first: bool) -> bool:
    """Whether closing a socket in ``state`` in the orderly way leaves a TIME_WAIT at this end.

    A socket whose connection has gone on to TIME_WAIT reads as CLOSE, just as one that was reset; only
    ``sent_fin_first``, noted when shutdown() was called, tells them apart. A reset after such a shutdown is counted as
    TIME_WAIT too: the port then rests longer than it must.
    """
    return state in _FIRST or (state is TcpState.CLOSE and sent_fin_first)


def returned(*, reset: bool, timestamps: bool) -> How:
    """How the port comes back where an orderly close keeps TIME_WAIT.

    ``reset``: the close sends RST; ``timestamps``: the connection negotiated them.
    """
    if reset:
        return How.FREED
    return How.TIME_WAIT if timestamps else How.TIME_WAIT_KEPT
