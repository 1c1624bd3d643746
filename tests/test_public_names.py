"""The public names: they exist, they are told, and having them costs no more than it must."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

import fourtuple
import fourtuple.errors
import fourtuple.ports
from fourtuple.errors import FourtupleError

PACKAGES: dict[str, ModuleType] = {"fourtuple": fourtuple, "fourtuple.ports": fourtuple.ports}


def is_named_here(module: ModuleType, name: str, thing: object) -> bool:
    return not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__


def documented() -> Iterator[tuple[str, object]]:
    """Every public module, class, function, method and property, by its full name."""
    for package, module in PACKAGES.items():
        yield package, module
        for name in module.__all__:
            thing = getattr(module, name)
            yield f"{package}.{name}", thing
            if inspect.ismodule(thing):
                for inner, member in vars(thing).items():
                    if callable(member) and is_named_here(thing, inner, member):
                        yield f"{package}.{name}.{inner}", member
            if inspect.isclass(thing):
                for inner, member in vars(thing).items():
                    if not inner.startswith("_") and (inspect.isroutine(member) or isinstance(member, property)):
                        yield f"{package}.{name}.{inner}", member


DOCUMENTED = dict(documented())


@pytest.mark.parametrize("package", PACKAGES)
def test_the_public_names_are_sorted_and_there(package: str) -> None:
    names = PACKAGES[package].__all__
    assert names == sorted(set(names))
    namespace: dict[str, object] = {}
    exec(f"from {package} import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(names)


def test_every_error_is_public() -> None:
    errors = {
        name
        for name, thing in vars(fourtuple.errors).items()
        if inspect.isclass(thing) and issubclass(thing, FourtupleError)
    }
    assert errors <= set(fourtuple.__all__)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_every_public_name_has_a_docstring(name: str) -> None:
    thing = DOCUMENTED[name]
    text = thing.__doc__ or ""
    assert text.strip()
    # What dataclass writes for a class without one.
    assert not text.startswith(f"{getattr(thing, '__name__', None)}(")


def imported_by(statement: str) -> set[str]:
    """The packages outside the standard library that a new interpreter has after it, and not before."""
    script = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    printed = subprocess.check_output([sys.executable, "-c", script], text=True, env=environment)
    return {name.partition(".")[0] for name in printed.split()} - sys.stdlib_module_names


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_it_imports_little_else(package: str) -> None:
    imported = imported_by(f"from {package} import *")
    # A compiled module brings two of Cython's making.
    assert {name for name in imported if "cython" not in name} == {"fourtuple", "aiohappyeyeballs"}


def test_what_is_lazy_is_listed_and_nothing_else_is_found() -> None:
    assert set(fourtuple.__all__) <= set(dir(fourtuple))
    with pytest.raises(AttributeError, match="no attribute 'Conector'"):
        getattr(fourtuple, "Conector")  # noqa: B009
