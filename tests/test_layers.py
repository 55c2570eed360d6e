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
    "references",
    "compiled",
    "handlebars",
    "row",
    "template",
    "formula",
    "intervals",
    "callables",
    "thread",
    "messages",
    "metrics",
    "spec",
    "judgement",
    "result",
    "judges.base",  # what a kind may know of judges
    "endpoints.base",  # what a kind may know of reward servers
    "sandbox.base",  # what a kind may know of the sandbox
    "sandbox.catalogue",
    "sandbox.look",
    "context",
    "graders.code",  # what the kinds that run code share
    "graders.judging",  # what the kinds that ask a judge share
    "graders.threads",  # what those of them share that judge a conversation
    "graders.claims",  # what those of them share that judge by claims
    "graders.entry_points",  # what finds kinds in other packages
    "graders.returned",  # what looks at their grades
    "graders.",  # the kinds: they know what is below, and not one another
    "graders",  # the table of kinds
    "plugin",  # what kinds of other packages may know of us
    "parse",
    "settings",
    "eventloop",
    "connection",
    "store",
    "registry",
    "lookup",
    "judges",  # how models are asked
    "endpoints",  # how reward servers are asked
    "sandbox.inside",  # runs in the sandbox and knows nothing of us
    "sandbox",  # the backends
    "pool",
    "apart",
    "run",
    "worker",
    "functions",
    "registration",
    "packs",
    "client",  # for callers: the registry of a server, or of this machine
    "doctor",
    "trial",
    "evals.dataset",
    "evals.tally",
    "evaluation",
    "",  # the package's public names
    "durable",
    "server",
    "web",
    "server.app",  # the API and the web page together
    "server.serve",
    "rewardserver",
    "evals",
    "cli",
]
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix("."): path
    for path in SOURCE.rglob("*.py")
}


def layer(module: str) -> int:
    """The line a module belongs to: its own name's, or the longest beginning of it that has one."""
    names = [".".join(module.split(".")[:count]) for count in range(module.count(".") + 1, 0, -1)]
    if module.startswith("graders.") and module not in LAYERS:
        return LAYERS.index("graders.")
    return next(LAYERS.index(name) for name in names if name in LAYERS)


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
        same_layer = layer(imported) == own and not module.startswith("graders.")
        assert layer(imported) < own or same_layer, f"{module or 'fairmark'} imports {imported or 'fairmark'}"


SHARED = {f"graders.{name}" for name in ("code", "judging", "threads", "claims", "entry_points", "returned")}


def test_a_kind_does_not_import_its_siblings() -> None:
    kinds = {module for module in MODULES if module.startswith("graders.")} - SHARED
    assert len(kinds) >= 3
    for kind in kinds:
        assert not kinds & set(imports(MODULES[kind]))
