"""tcp_crr and tcp_rr: requests and responses, on a connection each or on connections that stay."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from fourtuple.load.engine.arrivals import Arrivals
from fourtuple.load.engine.client import Client

from .checks import at_least
from .counters import Counters
from .engines import ENGINES, Engine
from .files import check_writable
from .options import Crr, Rr, Transactions
from .program import ClientShare, Figures, Line, Plan, Program, Traffic, Worker
from .rtt_log import write_rtt_log
from .sockets import SocketOption, fastopen_option, reuseaddr_option, shared_options

if TYPE_CHECKING:
    from fourtuple.load.engine.echo import EchoServer
    from fourtuple.load.engine.histogram import Histogram
    from fourtuple.load.engine.uring_echo import UringEchoServer

OptionsT = TypeVar("OptionsT", bound=Transactions, covariant=True)

_NANO = 1e-9


class TransactionClient(Worker):
    """A thread of a client."""

    def __init__(self, client: Client, options: Transactions) -> None:
        self._client = client
        self._request = options.request_size
        self._response = options.response_size

    @property
    def loop(self) -> Client:
        """What the thread runs."""
        return self._client

    @property
    def things(self) -> int:
        """Transactions."""
        return self._client.transactions

    def counters(self) -> Counters:
        """Those of all flows of the thread."""
        client = self._client
        return Counters(
            client.transactions,
            _nonzero(client.failures),
            {"kernel_choices": client.kernel_choices, "refused_ports": client.refused_ports},
            {
                "latency": client.latency,
                "connect": client.connecting,
                "request": client.requesting,
                "close": client.closing,
            },
        )

    def traffic(self) -> Traffic:
        """Whole transactions alone."""
        done = self._client.transactions
        return Traffic(done, done * self._request, done, done * self._response)

    @property
    def things_of_flow(self) -> Sequence[int]:
        """Transactions of each flow."""
        return self._client.done

    def levels(self) -> Mapping[str, int]:
        """Flows that could not go on or never began, and transactions of an open loop that were not started in time."""
        client = self._client
        return {
            "dead_flows": client.flows - client.alive,
            "unconnected_flows": client.unconnected,
            "overdue": client.overdue,
        }


class TransactionServer(Worker):
    """A thread of a server."""

    def __init__(self, server: EchoServer | UringEchoServer, options: Transactions) -> None:
        self._server = server
        self._request = options.request_size
        self._response = options.response_size

    @property
    def loop(self) -> EchoServer | UringEchoServer:
        """What the thread runs."""
        return self._server

    @property
    def things(self) -> int:
        """Transactions."""
        return self._server.transactions

    def counters(self) -> Counters:
        """Those of all connections of the thread."""
        server = self._server
        return Counters(server.transactions, _nonzero(server.failures), {"connections": server.connections})

    def traffic(self) -> Traffic:
        """Whole transactions alone."""
        done = self._server.transactions
        return Traffic(done, done * self._response, done, done * self._request)

    @property
    def things_of_flow(self) -> Sequence[int]:
        """A server does not tell its connections apart: all are one flow."""
        return (self._server.transactions,)

    def levels(self) -> Mapping[str, int]:
        """Connections open at once, at most."""
        return {"most_open": self._server.most}


class TransactionProgram(Program[OptionsT]):
    """What tcp_crr and tcp_rr share."""

    def __init__(self, options: OptionsT) -> None:
        super().__init__(options)
        if options.test_length == 0:
            raise ValueError("--test-length must be at least 1 second, or -1 for a transaction, not 0")
        for name in ("request_size", "response_size", "buffer_size"):
            at_least(options, name, 1)
        if options.log_rtt:
            at_least(options, "logrtt_entries_per_flow", 1)
        if options.engine == "io_uring" and options.ports != "kernel":
            raise ValueError(
                f"--engine io_uring and --ports {options.ports} exclude each other: the kernel does not tell which "
                f"port a connection of an io_uring got; use --engine epoll"
            )

    @property
    def things(self) -> str:
        """On either side."""
        return "transactions"

    @property
    def plan(self) -> Plan:
        """``-l`` above 0 is seconds, below 0 transactions."""
        length = self.options.test_length
        return Plan(max(length, 0), max(-length, 0), self.options.rate)

    @property
    def percentiles(self) -> Sequence[float]:
        """Those of -p."""
        return self.options.percentiles

    def client_options(self) -> list[SocketOption]:
        """The shared ones and --tcp-fastopen."""
        return self.server_options() + ([fastopen_option()] if self.options.tcp_fastopen else [])

    def server_options(self) -> list[SocketOption]:
        """The shared ones."""
        return shared_options(self.options, self.options.mark)

    def client(self, share: ClientShare) -> Worker:
        """One whose transactions start when all its flows have begun."""
        arrivals = None
        if share.rate:
            poisson = self.options.arrivals == "poisson"
            arrivals = Arrivals(share.rate, phase=share.phase, poisson=poisson, seed=share.thread + 1)
        log = self.options.logrtt_entries_per_flow if self.options.log_rtt else 0
        return TransactionClient(self._loop(share, arrivals, log), self.options)

    @abstractmethod
    def _loop(self, share: ClientShare, arrivals: Arrivals | None, log: int) -> Client: ...

    @property
    def _engine(self) -> Engine:
        return ENGINES[self.options.engine]

    def server(self, listeners: Sequence[int]) -> Worker:
        """One that answers on all of the listeners."""
        sizes = self.options
        server = self._engine.server(listeners, request=sizes.request_size, response=sizes.response_size)
        return TransactionServer(server, sizes)

    def statistics(self, figures: Figures) -> Iterator[Line]:
        """Transactions and their latency, in seconds; a server measures none, and prints 0 like neper's."""
        yield "num_transactions", str(figures.counters.things)
        if figures.logged is not None:
            yield "rtt_transactions_logged", str(figures.logged)
        latency = figures.counters.histograms.get("latency")
        for name, seconds in _latencies(latency, self.options.percentiles):
            yield f"latency_{name}", f"{seconds:.9f}"

    def throughput(self, figures: Figures) -> Iterator[Line]:
        """Transactions per second."""
        yield "throughput", f"{figures.trend.throughput:.2f}"

    def control_rate(self, figures: Figures) -> int:
        """Transactions per second, if this side has statistics."""
        rate = figures.trend.throughput
        return int(rate) if self.reports and math.isfinite(rate) else 0

    def check_files(self) -> None:
        """That of --log-rtt too, for a client."""
        super().check_files()
        if self.options.client:
            check_writable("--log-rtt", self.options.log_rtt)

    def write_log(self, workers: Sequence[Worker]) -> int | None:
        """The file of --log-rtt, for a client."""
        if not (self.options.client and self.options.log_rtt):
            return None
        clients = [worker.loop for worker in workers if isinstance(worker, TransactionClient)]
        return write_rtt_log(self.options.log_rtt, clients)


class TcpCrr(TransactionProgram[Crr]):
    """A connection for each transaction."""

    name = "tcp_crr"
    secret = b""
    options_type = Crr

    @property
    def reports(self) -> bool:
        """The client alone, as with neper."""
        return self.options.client

    def _loop(self, share: ClientShare, arrivals: Arrivals | None, log: int) -> Client:
        return self._engine.crr(
            share.flows,
            request=self.options.request_size,
            response=self.options.response_size,
            limit=share.limit,
            arrivals=arrivals,
            log=log,
        )


class TcpRr(TransactionProgram[Rr]):
    """Connections that stay."""

    name = "tcp_rr"
    secret = b"neper tcp_rr 201703241250"
    options_type = Rr

    def __init__(self, options: Rr) -> None:
        super().__init__(options)
        if options.noburst and (options.delay or options.rate):
            raise ValueError("--noburst excludes --delay and --rate: each of them says when transactions start")
        if options.delay and options.rate:
            raise ValueError("--delay and --rate exclude each other: both say when transactions start")

    @property
    def plan(self) -> Plan:
        """--noburst is a rate too."""
        plan = super().plan
        return replace(plan, rate=1e9 / self.options.noburst) if self.options.noburst else plan

    @property
    def reports(self) -> bool:
        """Both sides."""
        return True

    def client_options(self) -> list[SocketOption]:
        """--reuseaddr besides; listeners have it anyway."""
        return super().client_options() + ([reuseaddr_option()] if self.options.reuseaddr else [])

    def _loop(self, share: ClientShare, arrivals: Arrivals | None, log: int) -> Client:
        return self._engine.rr(
            share.flows,
            request=self.options.request_size,
            response=self.options.response_size,
            delay=self.options.delay,
            limit=share.limit,
            arrivals=arrivals,
            log=log,
        )


def _nonzero(failures: Sequence[int]) -> dict[int, int]:
    return {code: count for code, count in enumerate(failures) if count}


def _latencies(latency: Histogram | None, percentiles: Sequence[float]) -> Iterator[tuple[str, float]]:
    names = [f"p{percent:g}" for percent in percentiles]
    if latency is None:
        yield from ((name, 0.0) for name in ("min", "max", "mean", "stddev", *names))
        return
    nothing = latency.count == 0
    yield "min", math.nan if nothing else latency.least * _NANO
    yield "max", math.nan if nothing else latency.greatest * _NANO
    yield "mean", latency.mean * _NANO
    yield "stddev", latency.stddev * _NANO
    yield from ((name, latency.percentile(percent) * _NANO) for name, percent in zip(names, percentiles, strict=True))
