"""Who keeps TIME_WAIT, by the state a socket is in just before close()."""

from __future__ import annotations

import pytest

from fourtuple.linux.tcp_info import TcpState
from fourtuple.ports.closing import keeps_time_wait, returned
from fourtuple.ports.space import How

# RFC 9293, figure 5: the way from each state to TIME_WAIT by a close() at this end.
FIRST = {
    TcpState.ESTABLISHED,
    TcpState.SYN_RECV,
    TcpState.FIN_WAIT1,
    TcpState.FIN_WAIT2,
    TcpState.CLOSING,
    TcpState.TIME_WAIT,
}


@pytest.mark.parametrize("state", TcpState)
def test_the_end_that_sends_the_first_fin_keeps_time_wait(state: TcpState) -> None:
    assert keeps_time_wait(state, sent_fin_first=False) == (state in FIRST)


@pytest.mark.parametrize("state", TcpState)
def test_a_shutdown_before_counts_once_the_connection_is_gone(state: TcpState) -> None:
    assert keeps_time_wait(state, sent_fin_first=True) == (state in FIRST or state is TcpState.CLOSE)


@pytest.mark.parametrize("timestamps", [True, False])
def test_a_reset_keeps_nothing(timestamps: bool) -> None:
    assert returned(reset=True, timestamps=timestamps) is How.FREED


def test_only_timestamps_let_time_wait_be_reused() -> None:
    assert returned(reset=False, timestamps=True) is How.TIME_WAIT
    assert returned(reset=False, timestamps=False) is How.TIME_WAIT_KEPT
