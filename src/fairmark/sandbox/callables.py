"""The source of a Python callable, as a function grader wants it."""

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def source_of(function: Callable[..., Any]) -> tuple[str, list[str]]:
    """The source of a function as a grader: named `grade`, with the imports it uses. And what it would miss there.

    Raises ValueError for what has no source: lambdas, builtins, functions typed at a prompt.
    """
    if not callable(function):
        raise ValueError(f"a function is needed, found a {type(function).__name__}.")
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        raise ValueError(f"the source of {function!r} cannot be found. Pass the source as a text.") from None
    if not tree.body or not isinstance(tree.body[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise ValueError(f"{function!r} is no def. Write it as a function, or pass the source as a text.")
    definition = tree.body[0]
    own_name, definition.name = definition.name, "grade"
    wanted = _free_names(definition) - {own_name, "grade", "StringThread"}
    imports = _imports_of(function, wanted)
    provided = {name for statement in imports for name in _bound_names(statement)}
    body: list[ast.stmt] = [*imports, definition]
    if own_name != "grade":
        body.append(ast.parse(f"{own_name} = grade").body[0])
    missing = sorted(wanted - provided - set(dir(builtins)))
    warnings = [f"{name} is neither defined in the function nor imported by its module" for name in missing]
    return ast.unparse(ast.Module(body, [])) + "\n", warnings


def _imports_of(function: Callable[..., Any], wanted: set[str]) -> list[ast.stmt]:
    """The import statements of the function's module, reduced to the names that are wanted."""
    module = inspect.getmodule(function)
    try:
        tree = ast.parse(inspect.getsource(module)) if module else ast.Module([], [])
    except (OSError, TypeError, SyntaxError):
        return []
    imports: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            statement.names = [alias for alias in statement.names if _bound_name(alias) in wanted]
            if statement.names:
                imports.append(statement)
    return imports


def _bound_names(statement: ast.stmt) -> set[str]:
    return (
        {_bound_name(alias) for alias in statement.names}
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        else set()
    )


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _free_names(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names a function reads and does not bind itself. Scopes inside are not told apart: a name bound anywhere
    in it counts as its own."""
    read, bound = set(), set()
    for node in ast.walk(definition):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias():
                bound.add(_bound_name(node))
            case _:
                pass
    return read - bound
