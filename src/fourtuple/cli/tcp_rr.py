"""``fourtuple tcp_rr``: transactions on connections that stay, as neper measures them."""

from __future__ import annotations

from fourtuple.cli.neper_command import command
from fourtuple.load.neper.transactions import TcpRr

tcp_rr = command(
    TcpRr,
    """Send a request, receive a response, and again, on connections that stay: neper's tcp_rr.

    Start it without -c as the server, then with -c and -H as the client, or either against neper's own program. The
    output is neper's, key=value, followed by what it does not tell: failures by kind, and the latency by its parts.
    """,
)
