"""The file of ``--log-rtt``: when each transaction ended, and how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fourtuple.load.engine.client import Client

_NANO = 1e-9


def write_rtt_log(path: str, clients: Sequence[Client]) -> int:
    """Write what the clients logged and return how many transactions that is.

    Time 0 is the end of the first transaction of all. Rows are by thread, then by flow, the oldest first; columns are
    separated by commas if the name ends in .csv.
    """
    start = min((entry[1] for client in clients for entry in _entries(client)), default=0)
    separator = "," if path.endswith(".csv") else " "
    written = 0
    with open(path, "w", encoding="ascii") as file:
        file.write(separator.join((f"{'timestamp':>15}", f"{'thread_id':>10}", f"{'flow_id':>10}", f"{'rtt':>12}\n")))
        for thread, client in enumerate(clients):
            for flow, moment, latency in _entries(client):
                seconds = (moment - start) * _NANO
                row = (f"{seconds:15.9f}", f"{thread:10}", f"{flow:10}", f"{latency * _NANO:12.9f}\n")
                file.write(separator.join(row))
                written += 1
    return written


def _entries(client: Client) -> Iterator[tuple[int, int, int]]:
    # (flow, moment, latency); each flow has as many places as the others.
    room = len(client.log_moments) // max(1, client.flows)
    for flow in range(client.flows):
        for place in range(flow * room, flow * room + client.logged[flow]):
            yield flow, client.log_moments[place], client.log_latencies[place]
