"""What each thread of a client gets: flows with their destinations, sources and ports, and its part of the work."""

from __future__ import annotations

import errno
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fourtuple.errors import Unsupported
from fourtuple.linux.addresses import packed
from fourtuple.linux.features import has_local_port_range
from fourtuple.load.engine.client import Flows
from fourtuple.load.spaces import open_lanes

from .options import Tcp
from .placement import place, share
from .program import ClientShare, Program
from .sockets import with_port

if TYPE_CHECKING:
    from fourtuple.linux.addresses import SockAddr
    from fourtuple.load.engine.lanes import Lane


def client_shares(
    program: Program[Tcp], family: int, address: SockAddr, sources: Sequence[SockAddr]
) -> list[ClientShare]:
    """One for each thread, towards the data ports of ``address``; flows take ``sources`` in turn, if there are any.

    Raises Unsupported where fourtuple is to choose ports and cannot.
    """
    plan = program.plan
    options = program.options
    socket_options = [option.plain for option in program.client_options()]
    destinations = [with_port(address, options.port + number) for number in range(options.num_ports)]
    chain = _lanes(destinations, sources) if options.ports == "fourtuple" else None
    threads = options.num_threads
    shares: list[ClientShare] = []
    for thread in range(threads):
        placed = place(options.num_flows, threads, thread, destinations=len(destinations), sources=len(sources))
        flows = Flows(
            family=family,
            destinations=[packed(family, destination) for destination in destinations],
            sources=[packed(family, source) for source in sources],
            destination_of=placed.destination_of,
            source_of=placed.source_of,
            options=socket_options,
            reset=not options.time_wait,
            lanes=chain,
        )
        shares.append(
            ClientShare(
                thread=thread,
                flows=flows,
                limit=share(plan.things, threads, thread),
                rate=plan.rate / threads,
                phase=thread / threads,
            )
        )
    return shares


def _lanes(destinations: Sequence[SockAddr], sources: Sequence[SockAddr]) -> Lane:
    if not has_local_port_range():
        raise Unsupported(errno.ENOPROTOOPT, "IP_LOCAL_PORT_RANGE", "leave the choice to the kernel (--ports kernel)")
    return open_lanes([address[0] for address in destinations], [address[0] for address in sources])


def fixed_ports(family: int, first: int, flows: int) -> list[SockAddr]:
    """The sources of --source-port: any address, and a port for each flow from ``first`` on."""
    ports = range(first, first + flows)
    return [("::", port, 0, 0) if family == socket.AF_INET6 else ("0.0.0.0", port) for port in ports]
