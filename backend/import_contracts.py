"""import-linter's contract for compiled modules, which a C loop uses without the interpreter."""

import sys
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output

from compiled_modules import compiled_modules


class StdlibOnlyContract(Contract):
    """Every compiled module of the checkout imports nothing but the standard library."""

    type_name = "stdlib_only"

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at the direct imports of each compiled module in `graph`."""
        strangers = [
            f"{module.name} imports {imported}"
            for module in compiled_modules(Path("src"))
            for imported in sorted(graph.find_modules_directly_imported_by(module.name))
            if imported.partition(".")[0] not in sys.stdlib_module_names
        ]
        return ContractCheck(kept=not strangers, metadata={"strangers": strangers})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line per import that does not belong."""
        for stranger in check.metadata["strangers"]:
            output.print_error(stranger)
