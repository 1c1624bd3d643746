import json

import pytest
from click.testing import CliRunner

from fourtuple.cli.model import model

pytestmark = pytest.mark.pure

SMALL = ["connect", "--range", "10000-10199", "--flows", "150", "--connects", "5"]


def test_two_versions_stand_side_by_side() -> None:
    result = CliRunner().invoke(model, [*SMALL, "--version", "6.14", "--version", "6.18"])
    assert result.exit_code == 0, result.output
    assert "bind locks" in result.output
    assert "ratio" in result.output


def test_no_table_is_cut_in_80_columns() -> None:
    sized = ["connect", "--range", "10000-12999", "--flows", "2900", "--connects", "5"]
    result = CliRunner().invoke(model, [*sized, "--series", "-6"], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    assert "…" not in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 80
    assert "6.15-additive" in result.output


def test_json_has_every_version_of_the_series() -> None:
    result = CliRunner().invoke(model, [*SMALL, "--series", "--json"])
    assert len(json.loads(result.output)) == 7


def test_the_ledger_has_the_commits() -> None:
    assert (
        '86c2bc293b81 ("tcp: use RCU lookup in __inet_hash_connect()")'
        in CliRunner().invoke(model, ["versions"]).output
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--version", "9"], "known are 5.11"),
        (["--range", "9-3"], "ip_local_port_range"),
        (["--flows", "300"], "flows:"),
    ],
)
def test_wrong_usage_names_the_cause(arguments: list[str], text: str) -> None:
    result = CliRunner().invoke(model, [*SMALL, *arguments])
    assert result.exit_code == 2
    assert text in result.output
