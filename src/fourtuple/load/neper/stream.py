"""tcp_stream: bulk data on connections that stay."""

from __future__ import annotations

import math
import socket
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from fourtuple.linux.streaming import SO_ZEROCOPY
from fourtuple.load.engine.stream import READ, WRITE, EdgeStream, Stream
from fourtuple.load.engine.stream_client import StreamClient
from fourtuple.load.engine.stream_reader import MappedReader, Reader
from fourtuple.load.engine.stream_server import SplitStreamServer, StreamServer
from fourtuple.load.engine.stream_writer import Writer, ZeroCopyWriter

from .checks import at_least
from .counters import Counters
from .placement import shares_before
from .program import ClientShare, Figures, Line, Plan, Program, Traffic, Worker
from .sockets import SocketOption, fastopen_option, reuseaddr_option, shared_options
from .stream_options import AUTOMATIC, StreamOptions
from .units import UNITS, Unit

_MSG_MORE: Final = 0x8000
_MSG_TRUNC: Final = 0x20


class StreamWorker(Worker):
    """A thread of either side, whose things are bytes: those read, or written on a side that only writes."""

    def __init__(self, stream: Stream, options: StreamOptions) -> None:
        self._stream = stream
        self._options = options

    @property
    @abstractmethod
    def loop(self) -> StreamClient | StreamServer:
        """What the thread runs."""

    @property
    def things(self) -> int:
        """Bytes."""
        return self._stream.reader.received if self._options.enable_read else self._stream.writer.sent

    def traffic(self) -> Traffic:
        """Calls that moved something, and the bytes that they moved."""
        reader, writer = self._stream.reader, self._stream.writer
        return Traffic(writer.writes, writer.sent, reader.reads, reader.received)

    def _numbers(self) -> dict[str, int]:
        reader, writer = self._stream.reader, self._stream.writer
        numbers: dict[str, int] = {}
        if self._options.enable_write:
            numbers["bytes_written"] = writer.sent
        if isinstance(reader, MappedReader):
            numbers["bytes_copied"] = reader.received - reader.mapped
        if isinstance(writer, ZeroCopyWriter):
            numbers["zerocopy_sends"] = writer.reports[0]
            numbers["copied_sends"] = writer.reports[1] + writer.copied_at_once
        return numbers

    def _failures(self) -> dict[int, int]:
        return {code: count for code, count in enumerate(self.loop.failures) if count}


class StreamClientWorker(StreamWorker):
    """A thread of a client."""

    def __init__(self, client: StreamClient, options: StreamOptions) -> None:
        super().__init__(client.stream, options)
        self._client = client

    @property
    def loop(self) -> StreamClient:
        """What the thread runs."""
        return self._client

    def counters(self) -> Counters:
        """Those of all flows of the thread."""
        client = self._client
        chosen = {"kernel_choices": client.kernel_choices, "refused_ports": client.refused_ports}
        connect = {"connect": client.connecting}
        return Counters(self.things, self._failures(), self._numbers() | chosen, connect)

    @property
    def things_of_flow(self) -> Sequence[int]:
        """Bytes that each flow read; writers keep no account of their flows."""
        return self._client.done if self._options.enable_read else ()

    def levels(self) -> Mapping[str, int]:
        """Flows that did not connect or whose connections are over."""
        client = self._client
        return {"dead_flows": client.flows - client.alive, "unconnected_flows": client.unconnected}


class StreamServerWorker(StreamWorker):
    """A thread of a server."""

    def __init__(self, server: StreamServer, options: StreamOptions) -> None:
        super().__init__(server.stream, options)
        self._server = server

    @property
    def loop(self) -> StreamServer:
        """What the thread runs."""
        return self._server

    def counters(self) -> Counters:
        """Those of all connections of the thread."""
        numbers = self._numbers() | {"connections": self._server.connections}
        return Counters(self.things, self._failures(), numbers)

    @property
    def things_of_flow(self) -> Sequence[int]:
        """Bytes that each connection read, those that read nothing left out."""
        return [received for received in self._server.done if received]

    def levels(self) -> Mapping[str, int]:
        """Connections open at once, at most."""
        return {"most_open": self._server.most}


class TcpStream(Program[StreamOptions]):
    """Bulk data, one way or both."""

    name: ClassVar[str] = "tcp_stream"
    secret: ClassVar[bytes] = b"neper tcp_stream 201703241300"
    options_type = StreamOptions

    def __init__(self, options: StreamOptions) -> None:
        _check(options)
        super().__init__(_settled(options))

    @property
    def things(self) -> str:
        """What this side counts."""
        return "bytes_read" if self.options.enable_read else "bytes_written"

    @property
    def plan(self) -> Plan:
        """Seconds alone."""
        return Plan(self.options.test_length, 0, 0.0)

    @property
    def reports(self) -> bool:
        """Who reads."""
        return self.options.enable_read

    def client_options(self) -> list[SocketOption]:
        """What both sides have, --reuseaddr and --tcp-fastopen."""
        wanted = self.server_options()
        if self.options.reuseaddr:
            wanted.append(reuseaddr_option())
        if self.options.tcp_fastopen:
            wanted.append(fastopen_option())
        return wanted

    def server_options(self) -> list[SocketOption]:
        """The shared ones, and what zero copy needs."""
        options = self.options
        wanted = shared_options(options, options.mark)
        if options.zerocopy and options.enable_write:
            wanted.append(SocketOption("--zerocopy", socket.SOL_SOCKET, SO_ZEROCOPY, 1))
        if options.rx_zerocopy and options.enable_read:
            # Pages can only be mapped whole, and many at once cost less.
            wanted.append(SocketOption("--rx-zerocopy", socket.SOL_SOCKET, socket.SO_RCVLOWAT, options.buffer_size))
        return wanted

    def client(self, share: ClientShare) -> Worker:
        """One whose flows start when its loop does."""
        options = self.options
        count = len(share.flows.destination_of)
        directions = [_directions(options)] * count
        if options.split_bidir:
            # In turn over all threads, of which each may have one flow only.
            first = shares_before(options.num_flows, options.num_threads, share.thread)
            directions = [WRITE if number % 2 else READ for number in range(first, first + count)]
        return StreamClientWorker(StreamClient(share.flows, _stream(options), directions), options)

    def server(self, listeners: Sequence[int]) -> Worker:
        """One that serves all of the listeners."""
        stream = _stream(self.options)
        if self.options.split_bidir:
            return StreamServerWorker(SplitStreamServer(listeners, stream), self.options)
        return StreamServerWorker(StreamServer(listeners, stream, _directions(self.options)), self.options)

    def statistics(self, figures: Figures) -> Iterator[Line]:
        """None before the throughput."""
        yield from ()

    def throughput(self, figures: Figures) -> Iterator[Line]:
        """In the unit of --throughput-opt."""
        rate = figures.trend.throughput
        unit = _unit(self.options.throughput_opt, rate)
        yield "throughput", f"{rate / unit.size:.2f}"
        yield "throughput_units", unit.label

    def control_rate(self, figures: Figures) -> int:
        """Bits per second, if this side reads."""
        rate = figures.trend.throughput
        return int(8 * rate) if self.reports and math.isfinite(rate) else 0

    def epilogue(self, figures: Figures) -> Iterator[Line]:
        """How much --rx-zerocopy has spared copying."""
        if self.options.rx_zerocopy:
            received = figures.counters.things if self.reports else 0
            mapped = received - figures.counters.numbers.get("bytes_copied", 0)
            yield "bytes_mmaped", str(mapped)
            yield "percent_mmaped", str(100 * mapped // max(1, received))


def _check(options: StreamOptions) -> None:
    for name in ("test_length", "buffer_size"):
        at_least(options, name, 1)
    if options.rate:
        raise ValueError("--rate is for requests; --max-pacing-rate is what paces streams")
    if options.rx_zerocopy and options.skip_rx_copy:
        raise ValueError("--rx-zerocopy and --skip-rx-copy exclude each other: both say how to receive")
    if options.split_bidir and options.enable_tcp_maerts:
        raise ValueError("--split-bidir and --enable-tcp-maerts exclude each other: both say who writes")
    if options.client and options.tcp_fastopen and (options.split_bidir or options.enable_tcp_maerts):
        raise ValueError(
            "--tcp-fastopen makes a connection with the first data that is sent: it excludes --split-bidir and "
            "--enable-tcp-maerts, with which flows of the client send none"
        )


def _settled(options: StreamOptions) -> StreamOptions:
    # With the directions and the flows that follow from the flags.
    if options.split_bidir:
        return replace(options, enable_read=True, enable_write=True, num_flows=2 * options.num_flows)
    if options.enable_tcp_maerts:
        return replace(options, enable_read=options.client, enable_write=not options.client)
    return replace(
        options,
        enable_read=options.enable_read or not options.client,
        enable_write=options.enable_write or options.client,
    )


def _directions(options: StreamOptions) -> int:
    return (READ if options.enable_read else 0) | (WRITE if options.enable_write else 0)


def _stream(options: StreamOptions) -> Stream:
    trigger = EdgeStream if options.edge_trigger else Stream
    return trigger(_reader(options), _writer(options), delay=options.delay)


def _reader(options: StreamOptions) -> Reader:
    if not options.enable_read:
        return Reader(1)
    if options.rx_zerocopy:
        return MappedReader(options.buffer_size)
    return Reader(options.buffer_size, _MSG_TRUNC if options.skip_rx_copy else 0)


def _writer(options: StreamOptions) -> Writer:
    if not options.enable_write:
        return Writer(1)
    flags = 0 if options.no_cork else _MSG_MORE
    return ZeroCopyWriter(options.buffer_size, flags) if options.zerocopy else Writer(options.buffer_size, flags)


def _unit(name: str, rate: float) -> Unit:
    # Of the automatic ones the greatest of which there is more than one.
    units = [UNITS[name] for name in AUTOMATIC.get(name, (name,))]
    return next((unit for unit in reversed(units) if rate > unit.size), units[0])
