"""``fourtuple tcp_crr``: a connection for each transaction, as neper measures it."""

from __future__ import annotations

from fourtuple.cli.neper_command import command
from fourtuple.load.neper.transactions import TcpCrr

tcp_crr = command(
    TcpCrr,
    """Connect, send a request, receive a response, close, and again: neper's tcp_crr.

    Start it without -c as the server, then with -c and -H as the client, or either against neper's own program. The
    output is neper's, key=value, followed by what it does not tell: failures by kind, and the latency by its parts.
    """,
)
