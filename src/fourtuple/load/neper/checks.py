"""What is wrong with options, whichever program they are for."""

from __future__ import annotations

from typing import Final

from .options import Common, Tcp, spelling

MOST_A_SECOND: Final = 1e9
"""Transactions of one thread's schedule, which counts in nanoseconds."""


def check(options: Tcp, *, somaxconn: int) -> None:
    """Raise ValueError that names the flag, with what it has to be. ``somaxconn`` is net.core.somaxconn."""
    if options.logtostderr and options.nolog:
        raise ValueError("--logtostderr and --nolog exclude each other")
    for name in ("num_flows", "num_threads", "num_clients", "num_ports", "maxevents"):
        at_least(options, name, 1)
    for name in ("suicide_length", "tcp_tx_delay", "rate", "warmup"):
        at_least(options, name, 0)
    if options.rate > MOST_A_SECOND * options.num_threads:
        raise ValueError(
            f"--rate {options.rate:g} is above {MOST_A_SECOND:g} transactions a second for each of "
            f"{options.num_threads} threads"
        )
    if options.interval <= 0:
        raise ValueError(f"--interval must be above 0 seconds, not {options.interval:g}")
    if options.listen_backlog > somaxconn:
        raise ValueError(
            f"--listen-backlog {options.listen_backlog} is above net.core.somaxconn, {somaxconn}, which cuts it off: "
            f"raise that first (sysctl -w net.core.somaxconn={options.listen_backlog})"
        )
    _check_ports(options)
    _check_sources(options)
    if options.client:
        _check_client(options)
    else:
        _check_server(options)


def at_least(options: Common, name: str, least: int) -> None:
    """Raise ValueError if an option is below that."""
    value = getattr(options, name)
    if value < least:
        raise ValueError(f"{spelling(name)} must be {least} or more, not {value}")


def _check_ports(options: Tcp) -> None:
    last = options.port + options.num_ports - 1
    if last > 65535:
        raise ValueError(
            f"--num-ports {options.num_ports} from --port {options.port} on ends at {last}, above 65535: use at most "
            f"{65536 - options.port}"
        )
    if options.port <= options.control_port <= last:
        raise ValueError(
            f"--control-port {options.control_port} is among the data ports {options.port} to {last} (--port, "
            f"--num-ports): choose another"
        )


def _check_sources(options: Tcp) -> None:
    if options.source_port == -1:
        return
    if options.local_hosts:
        raise ValueError("--source-port and --local-hosts exclude each other")
    if options.ports != "kernel":
        raise ValueError(f"--source-port and --ports {options.ports} exclude each other: both choose the ports")
    if not 1 <= options.source_port <= 65535:
        raise ValueError(f"--source-port must be 1 to 65535, not {options.source_port}; best above 1024")
    last = options.source_port + options.num_flows - 1
    if last > 65535:
        raise ValueError(
            f"--source-port {options.source_port} with --num-flows {options.num_flows} ends at {last}, above 65535: "
            f"start at {65536 - options.num_flows} or lower"
        )


def _check_client(options: Tcp) -> None:
    if options.num_flows < options.num_threads:
        raise ValueError(
            f"--num-flows {options.num_flows} is below --num-threads {options.num_threads}: each thread needs a flow"
        )
    if options.num_flows < len(options.local_hosts):
        raise ValueError(
            f"--num-flows {options.num_flows} is below the {len(options.local_hosts)} addresses of --local-hosts: each "
            f"address needs a flow"
        )


def _check_server(options: Tcp) -> None:
    if options.local_hosts:
        raise ValueError("--local-hosts is for clients alone (-c)")
    if options.wait_start:
        raise ValueError("--wait-start is for clients alone (-c)")
    if options.ports != "kernel":
        raise ValueError(f"--ports {options.ports} is for clients alone (-c): a server does not choose source ports")
    if options.rate:
        raise ValueError("--rate is for clients alone (-c)")
