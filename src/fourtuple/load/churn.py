"""Connecting and closing at once, in threads or asyncio tasks, beside the connections held."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from fourtuple.linux.sockopt import reset_on_close
from fourtuple.load.connections import Connections


def churn_in_threads(connections: Connections, threads: int, each: int) -> float:
    """Connect and close ``each`` times in every one of ``threads`` threads.

    Returns connections per second. Raises what a connect raises.
    """

    def churn() -> None:
        for _ in range(each):
            connection = connections.way.connect(connections.address)
            reset_on_close(connection)
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        for done in [pool.submit(churn) for _ in range(threads)]:
            done.result()
        return threads * each / (time.perf_counter() - began)


def churn_in_tasks(connections: Connections, tasks: int, each: int) -> float:
    """Connect and close ``each`` times in every one of ``tasks`` asyncio tasks.

    Returns connections per second. Raises what a connect raises.
    """

    async def churn() -> None:
        for _ in range(each):
            _, writer = await connections.way.open(connections.address)
            reset_on_close(writer.get_extra_info("socket"))
            writer.close()
            await writer.wait_closed()

    async def churn_all() -> float:
        began = time.perf_counter()
        await asyncio.gather(*(churn() for _ in range(tasks)))
        return tasks * each / (time.perf_counter() - began)

    return asyncio.run(churn_all())
