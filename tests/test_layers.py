"""Who may import whom: downward only. The order below is the one that docs/architecture.md draws."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fairmark"

# From the bottom up. A module belongs to the longest name that it begins with, and imports only from lower lines.
LAYERS = [
    "errors",
    "jsontext",
    "compiled",
    "row",
    "template",
    "formula",
    "metrics",
    "spec",
    "result",
    "context",
    "graders.",  # the kinds: they know what is below, and not one another
    "graders",  # the table of kinds
    "parse",
    "eventloop",
    "pool",
    "run",
    "worker",
    "",  # the package's public names
    "evals",
    "cli",
]
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix("."): path
    for path in SOURCE.rglob("*.py")
}


def layer(module: str) -> int:
    if module.startswith("graders."):
        return LAYERS.index("graders.")
    return LAYERS.index(module.partition(".")[0])


def imports(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "fairmark":
            names = [f"fairmark.{alias.name}" if alias.name in MODULES else "fairmark" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name.removeprefix("fairmark.") in MODULES else node.module for name in inside]
        else:
            continue
        yield from (name.removeprefix("fairmark").removeprefix(".") for name in names if name.startswith("fairmark"))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_what_lies_below_it(module: str) -> None:
    own = layer(module)
    for imported in imports(MODULES[module]):
        same_folder = module.partition(".")[0] == imported.partition(".")[0] and not imported.startswith("graders")
        assert layer(imported) < own or same_folder, f"{module or 'fairmark'} imports {imported or 'fairmark'}"


def test_a_kind_does_not_import_its_siblings() -> None:
    kinds = [module for module in MODULES if module.startswith("graders.")]
    assert len(kinds) >= 3
    for kind in kinds:
        assert not [name for name in imports(MODULES[kind]) if name.startswith("graders")]
