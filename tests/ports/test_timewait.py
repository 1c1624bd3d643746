"""When a port in TIME_WAIT may be used again: the kernel's rule, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourtuple.ports.timewait import TIME_WAIT, TwReuse, reuse_delay

DELAYS = st.none() | st.floats(0.0, 60.0)


@pytest.mark.parametrize(
    ("mode", "loopback", "allowed"),
    [
        (TwReuse.OFF, False, False),
        (TwReuse.OFF, True, False),
        (TwReuse.ON, False, True),
        (TwReuse.ON, True, True),
        (TwReuse.LOOPBACK, False, False),
        (TwReuse.LOOPBACK, True, True),
    ],
)
def test_the_mode_and_the_addresses_decide(mode: TwReuse, loopback: bool, allowed: bool) -> None:
    delay = reuse_delay(mode, 1.0, timestamps=True, loopback=loopback, explicit_bind=False)
    # A little above the kernel's delay, so that no port is proposed too early; far below TIME_WAIT.
    assert 1.0 < delay <= 1.1 if allowed else delay == TIME_WAIT


@given(DELAYS, st.booleans(), st.sampled_from(TwReuse), st.booleans())
def test_without_timestamps_none_is_reused(
    delay: float | None, loopback: bool, mode: TwReuse, explicit_bind: bool
) -> None:
    options = {"loopback": loopback, "explicit_bind": explicit_bind}
    assert reuse_delay(mode, delay, timestamps=False, **options) == TIME_WAIT


@given(DELAYS, st.booleans(), st.sampled_from(TwReuse))
def test_a_port_bound_explicitly_is_reused_at_once(delay: float | None, loopback: bool, mode: TwReuse) -> None:
    assert reuse_delay(mode, delay, timestamps=True, loopback=loopback, explicit_bind=True) == 0.0


@given(st.floats(0.0, 60.0))
def test_the_kernels_delay_is_kept_to(delay: float) -> None:
    found = reuse_delay(TwReuse.ON, delay, timestamps=True, loopback=False, explicit_bind=False)
    assert delay < found <= delay + 0.1


def test_a_kernel_without_the_setting_compares_whole_seconds() -> None:
    # "More than one" of them: up to two have passed.
    assert reuse_delay(TwReuse.ON, None, timestamps=True, loopback=False, explicit_bind=False) > 2.0


def test_the_modes_are_the_values_of_the_sysctl() -> None:
    assert [mode.value for mode in TwReuse] == [0, 1, 2]
