"""The compiled modules; all else about the package stands in pyproject.toml."""

from pathlib import Path

from setuptools import Extension, setup

from compiled_modules import compiled_modules

# Annotations are for readers and type checkers; what C makes of a name stands in the .pxd alone.
DIRECTIVES = {
    "annotation_typing": False,
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}

# With Cython installed, setuptools' build_ext is Cython's, which takes a .py for a source. The C it
# makes of it belongs in build/, never beside the source.
setup(
    ext_modules=[
        # Without debugging information the modules are a sixth of the size; with -O2 they are made in half the time
        # that -O3 takes, and what they do is mostly system calls.
        Extension(module.name, [str(module.source)], depends=[str(module.types)], extra_compile_args=["-O2", "-g0"])
        for module in compiled_modules(Path("src"))
    ],
    options={  # pyright: ignore[reportArgumentType] (the stub knows only text)
        "build_ext": {"cython_c_in_temp": True, "cython_directives": DIRECTIVES, "parallel": True}
    },
)
