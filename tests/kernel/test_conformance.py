"""The cases of the model's conformance on the live kernel: what they say is so."""

from __future__ import annotations

import pytest

from fourtuple.linux.netns import NetworkNamespace
from model.conformance.cases import CASES, Case
from model.conformance.hosts import V4, V6, Addresses
from model.conformance.live import LiveHost


@pytest.mark.parametrize("addresses", [V4, V6], ids=["4", "6"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_live_kernel_does_it(netns: NetworkNamespace, case: Case, addresses: Addresses) -> None:
    with LiveHost(addresses) as host:
        case(host)
