from __future__ import annotations

import sys
from importlib import import_module
from xml.etree import ElementTree

import pytest

from bench.demo.samples import report, run


def test_it_is_svg_with_a_background_and_every_figure() -> None:
    picture = import_module("fourtuple.bench.demo.picture")
    root = ElementTree.fromstring(picture.svg(report()))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    background = next(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert (background.get("fill"), background.get("width")) == ("#ffffff", root.get("width"))
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    for figure in ("16.0", "20.0", "300", "21.0", "600", "24.0"):
        assert texts.count(figure) == 2, figure
    assert texts.count("the kernel's choice") == texts.count("fourtuple's choice") == 2


def test_an_interrupted_run_of_one_level_is_drawn() -> None:
    picture = import_module("fourtuple.bench.demo.picture")
    assert "16.0" in picture.svg(report(run([(16, 20)])))


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    monkeypatch.delitem(sys.modules, "fourtuple.bench.demo.picture", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'fourtuple\[plots\]'"):
        import_module("fourtuple.bench.demo.picture")
