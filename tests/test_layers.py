"""Who may enter whose room: downward only. Rooms are the packages and the modules at the root, and docs/architecture.md
draws them in this order."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "fairmark"

# From the bottom up; "" is the package's public names.
ROOMS = """
    jsontext longjson errors refusals row outcomes frames references settings notebook text metrics spec judgement
    reason fragments result failures
    work outbound apart judges endpoints sandbox context graders plugin parse schema readiness cluster
    store registry run  client trainers ray data evaluation trust testing  evals kept checks labelling completions
    finetuning moving training
    serving rewardserver web server cli __main__
""".split()
ROOMS.insert(ROOMS.index("client"), "")
# What the kinds share; the other modules of graders/ are kinds.
_SHARED = """
    code judging threads claims formula wording entry_points returned compared fences answer_schema
    programs programs.wire programs.examiner programs.candidate programs.mathematics
"""
SHARED = {f"graders.{name}" for name in _SHARED.split()}
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix("__init__").removesuffix("."): path
    for path in SOURCE.rglob("*.py")
}
KINDS = {module for module in MODULES if module.startswith("graders.")} - SHARED


# Rooms with rooms inside, from the bottom up. In web/, "pages" and "site" know them all; in store/ and cli/, the
# package itself, and cli/commands imports a command by the name it has in its table.
INNER_ROOMS = {
    "store": "base access files completions registry evals views jobs received imports checks migrations".split(),
    "cli": "shared runs grading trust server moving machine commands".split(),
    "web": "frame admin graders evals runs labels logs jobs pages site".split(),
}


def room(module: str) -> str:
    return module.split(".")[0]


@functools.cache
def imports(path: Path) -> list[str]:
    """The modules of ours that a file imports when it runs, also inside functions."""
    return list(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in _statements(ast.parse(path.read_text())):
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


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All inside it, but for those for types only. Nothing inside an expression imports."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and isinstance(inner.test, ast.Name) and inner.test.id == "TYPE_CHECKING":
            continue
        if not isinstance(inner, ast.expr):
            yield inner
            yield from _statements(inner)


def test_every_room_has_its_place() -> None:
    assert sorted(ROOMS) == sorted({room(module) for module in MODULES})


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_is_entered_only_from_above(name: str) -> None:
    below = ROOMS[: ROOMS.index(name) + 1]
    if name == "":  # public names that are imported when somebody asks for them
        below = ROOMS
    upward = [
        f"{module} imports {imported or 'fairmark'}"
        for module in MODULES
        if room(module) == name
        for imported in imports(MODULES[module])
        if room(imported) not in below
    ]
    assert upward == []


@pytest.mark.parametrize("name", INNER_ROOMS)
def test_the_rooms_inside_a_room_are_entered_only_from_above(name: str) -> None:
    order = INNER_ROOMS[name]
    inside = {module: path for module, path in MODULES.items() if module.startswith(f"{name}.")}
    assert {module.split(".")[1] for module in inside} == set(order)
    upward = [
        f"{module} imports {imported}"
        for module, path in inside.items()
        for imported in imports(path)
        if imported == name
        or (imported.startswith(f"{name}.") and order.index(imported.split(".")[1]) > order.index(module.split(".")[1]))
    ]
    assert upward == []


def test_a_kind_does_not_import_its_siblings() -> None:
    assert len(KINDS) >= 3
    for kind in KINDS:
        assert not KINDS & set(imports(MODULES[kind]))


def test_what_kinds_share_does_not_import_kinds() -> None:
    for module in SHARED:
        assert not KINDS & set(imports(MODULES[module]))
