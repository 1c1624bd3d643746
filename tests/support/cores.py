"""The port space twice: as the installed package has it, and from its source without the compiler."""

import importlib.machinery
import importlib.util
import sys
from types import ModuleType

import fourtuple.ports.space as installed


def uncompiled() -> ModuleType:
    """``fourtuple.ports.space`` run from the .py file, as a module of its own."""
    name = "fourtuple_ports_space_uncompiled"
    if name not in sys.modules:
        spec = importlib.util.find_spec("fourtuple.ports")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        source = f"{spec.submodule_search_locations[0]}/space.py"
        loader = importlib.machinery.SourceFileLoader(name, source)
        module = ModuleType(name)
        module.__file__ = source
        sys.modules[name] = module
        loader.exec_module(module)
    return sys.modules[name]


CORES: dict[str, ModuleType] = {"installed": installed, "uncompiled": uncompiled()}
