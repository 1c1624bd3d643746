"""The constants of the compiled modules are those of layout.py."""

import re
from pathlib import Path

import pytest

from fourtuple.model import layout

pytestmark = pytest.mark.pure


def test_both_files_say_the_same() -> None:
    source = Path(layout.__file__).with_name("clayout.pxd").read_text()
    compiled = {name: int(value) for name, value in re.findall(r"^    ([A-Z_0-9]+) = (\d+)$", source, re.MULTILINE)}
    plain = {name: value for name, value in vars(layout).items() if name.isupper()}
    assert compiled == plain
