"""The cases of the model's conformance on the model."""

from __future__ import annotations

import pytest

from model.conformance.cases import CASES, Case
from model.conformance.hosts import V4, V6, Addresses
from model.conformance.modelled import ModelHost


@pytest.mark.parametrize("addresses", [V4, V6], ids=["4", "6"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_model_does_it(case: Case, addresses: Addresses) -> None:
    case(ModelHost(addresses))
