"""Modules that note which of their lines run. Run by each Python that starts, through a .pth file: kept small.

A note is one byte of a file that all processes have in their memory: `notes[first + line] = 1`, where `first` is the
module's own.
"""

import builtins
import json
import marshal
import mmap
import os
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

NOTES = "__fairmark_lines__"
"""Among the builtins, so that a probe finds it from every scope."""


def install(folder: str) -> None:
    """From now on, in this process and all that it forks. Nothing happens where the measuring has ended."""
    try:
        firsts = json.loads(Path(folder, "firsts.json").read_text())
        with Path(folder, "notes").open("r+b") as notes:
            shared = memoryview(mmap.mmap(notes.fileno(), 0))
    except OSError:
        return
    setattr(builtins, NOTES, shared)
    plain = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        return noting_code(Path(loader.path), firsts, Path(folder)) or plain(loader, name)

    # At the loader, where all come by: what is imported, what is run by `python -m`, and what Alembic loads by itself.
    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


def noting_code(file: Path, firsts: dict[str, tuple[int, int]], folder: Path) -> CodeType | None:
    """The code of a module that is measured, compiled once for all processes; None of others, and of changed ones."""
    first, written_ns = firsts.get(str(file), (0, 0))
    if not first or file.stat().st_mtime_ns != written_ns:
        return None
    kept = folder / f"{first}.code"
    try:
        code: CodeType = marshal.loads(kept.read_bytes())  # noqa: S302  # our own, of this run
    except FileNotFoundError:
        code = compiled(file.read_bytes(), str(file), first)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_bytes(marshal.dumps(code))
        part.replace(kept)
    return code


def compiled(source: bytes, path: str, first: int = 0) -> CodeType:
    """The module's code, with a probe before every statement."""
    import ast

    tree = ast.parse(source, path)
    for node in list(ast.walk(tree)):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):  # a lambda's body is none
                setattr(node, field, [*_probed(node, statements, first)] if statements else [])
    code: CodeType = compile(tree, path, "exec", dont_inherit=True)
    return code


def _probed(owner: "ast.AST", statements: list["ast.stmt"], first: int) -> Iterator["ast.stmt"]:
    import ast

    if isinstance(owner, ast.ExceptHandler):
        yield _probe(first, owner.lineno, statements[0])
    elif isinstance(owner, ast.match_case):
        yield _probe(first, owner.pattern.lineno, statements[0])
    for index, statement in enumerate(statements):
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if is_text and index == 0:
            yield statement
            continue
        # Nothing may stand before an import of the future, and nothing can come between: Fairmark has one at most.
        is_of_the_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        probes = [
            _probe(first, place.lineno, statement) for place in (*getattr(statement, "decorator_list", ()), statement)
        ]
        yield from [statement, *probes] if is_of_the_future else [*probes, statement]


def _probe(first: int, line: int, place: "ast.stmt") -> "ast.stmt":
    import ast

    note = ast.Subscript(ast.Name(NOTES, ast.Load()), ast.Constant(first + line), ast.Store())
    probe = ast.copy_location(ast.Assign([note], ast.Constant(1)), place)
    return ast.fix_missing_locations(probe)
