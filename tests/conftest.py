"""What every test shares: the tiers, the netns fixture, the event loops, hypothesis's settings."""

import asyncio
import os
import sys
from collections.abc import Mapping

import hypothesis
import pytest

pytest_plugins = [
    "pytester",
    "support.tiers",
    "support.elsewhere",
    "fourtuple.linux.pytest_netns",
]

# In a user namespace this process is root, but its temporary folders must not be taken for root's.
os.environ.setdefault("LOGNAME", f"uid{os.getuid()}")

# How long an example takes is the machine's affair.
hypothesis.settings.register_profile("fourtuple", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("fourtuple")


LOOPS: dict[str, Mapping[str, object]] = {"asyncio": {}, "uvloop": {"use_uvloop": True}}

if sys.version_info >= (3, 12):

    def eager_loop() -> asyncio.AbstractEventLoop:
        """An event loop whose tasks start at once, before create_task() returns."""
        loop = asyncio.new_event_loop()
        loop.set_task_factory(asyncio.eager_task_factory)
        return loop

    LOOPS["eager"] = {"loop_factory": eager_loop}


@pytest.fixture(params=LOOPS)
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, Mapping[str, object]]:
    """Run every asynchronous test on each kind of event loop."""
    return "asyncio", LOOPS[request.param]
