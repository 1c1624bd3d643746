import dataclasses
import itertools

import pytest

from fourtuple.model.versions import LEDGER, SERIES, Look, version

pytestmark = pytest.mark.pure


def test_unknown_versions_list_the_known() -> None:
    with pytest.raises(ValueError, match=r"'6\.99' is not modelled; known are 5\.11, .*7\.1$"):
        version("6.99")


def test_every_version_changes_a_feature() -> None:
    for before, after in itertools.pairwise(LEDGER):
        assert dataclasses.asdict(before.features) != dataclasses.asdict(after.features), after.version


def test_the_series_is_in_the_ledger_in_order() -> None:
    names = [row.version for row in LEDGER]
    assert [name for name in names if name in SERIES] == list(SERIES)
    assert [version(name).look for name in SERIES[:5]] == [Look.NEVER, *[Look.IN_CHECK] * 3, Look.IN_SEARCH]
