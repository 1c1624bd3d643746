"""Where a run of neper's programs prints: results on standard output, the rest on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from rich.console import Console
from rich.live import Live

from fourtuple.load.neper.program import Line
from fourtuple.load.neper.recorder import Interval


class NeperConsole:
    """Prints results with ``write``; while the run goes on, a terminal is shown rate, 99th percentile and failures."""

    def __init__(self, write: Callable[[str], None], things: str) -> None:
        self._write = write
        self._things = things
        terminal = Console(stderr=True, highlight=False)
        # Without a thread that refreshes: it would run while something is measured.
        self._live = Live(console=terminal, auto_refresh=False, transient=True) if terminal.is_terminal else None
        self._failures = 0

    def lines(self, lines: Iterable[Line]) -> None:
        """Print results, one line each."""
        self._rest()
        for key, value in lines:
            self._write(f"{key}={value}")

    def notice(self, text: str) -> None:
        """Print on standard error."""
        self._rest()
        click.echo(text, err=True)

    def interval(self, interval: Interval) -> None:
        """Renew the line of progress."""
        self._failures += interval.counters.failed
        if self._live is None:
            return
        self._live.start()
        self._live.update(progress(interval, self._things, self._failures), refresh=True)

    def _rest(self) -> None:
        if self._live is not None:
            self._live.stop()


def progress(interval: Interval, things: str, failures: int) -> str:
    """A line about the last interval; ``failures`` are those so far."""
    latency = interval.counters.histograms.get("latency")
    p99 = "" if latency is None or not latency.count else f", p99 {latency.percentile(99) / 1e3:,.0f} us"
    moment = interval.start + interval.seconds
    return f"{moment:6.1f} s: {interval.rate:,.0f} {things}/s{p99}, {failures} failures"
