"""``fourtuple tcp_stream``: bulk data over TCP, as neper measures it."""

from __future__ import annotations

from fourtuple.cli.neper_command import command
from fourtuple.load.neper.stream import TcpStream

tcp_stream = command(
    TcpStream,
    """Write as fast as TCP takes it and read on the other side, one way or both: neper's tcp_stream.

    Start it without -c as the server, then with -c and -H as the client, or either against neper's own program. The
    output is neper's, key=value, followed by what it does not tell: failures by kind, and bytes by how they went.
    """,
)
