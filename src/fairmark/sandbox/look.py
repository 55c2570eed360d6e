"""A static look at a grader's source: which packages it wants, and whether it can run what it is given.

Nothing is executed. The look decides speed and the default isolation, never safety: whatever it misses, the sandbox
holds.
"""

import ast
import re
import textwrap
import threading
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fairmark.sandbox.catalogue import KNOWN

# Names that run, unpickle or reach for what a grader is given. Generous: a false alarm costs milliseconds.
_RISKY = frozenset(
    """
    exec eval compile __import__ execfile builtins __builtins__ importlib runpy code codeop pickle _pickle
    cPickle marshal shelve dill cloudpickle joblib ctypes cffi _ctypes subprocess pty system popen
    unsafe_load full_load UnsafeLoader FullLoader Loader CLoader read_pickle allow_pickle sympify parse_expr
    parse_latex lambdify __subclasses__ __globals__ __code__ __closure__ f_globals f_back gc inspect sys.modules
    settrace setprofile globals locals vars query sympy timeit doctest cProfile profile pdb bdb zipimport pkgutil
    FunctionType CodeType ForwardRef get_type_hints load_module exec_module _getframe f_locals tb_frame
    """.split()
)


def dedent(source: str) -> str:
    """Source as people paste it into JSON: uniformly indented source is moved to the left."""
    return textwrap.dedent(source)


def parse(source: str) -> ast.Module:
    """The source's tree. Raises SyntaxError for whatever is not Python, with the line where it stops being it."""
    odd = _ODD.search(source)
    if odd:
        line = source.count("\n", 0, odd.start()) + 1
        raise SyntaxError("it holds a NUL or half a character", ("grader.py", line, 0, ""))
    try:
        with _without_warnings():
            return ast.parse(source)
    except (RecursionError, MemoryError):
        raise SyntaxError("it is nested too deeply", ("grader.py", 1, 0, "")) from None


def check(source: str) -> ast.Module:
    """The source's tree, where Python compiles it. Raises SyntaxError also for what only the compiler refuses: a return
    outside a function, two parameters of one name. Nothing is run, and the work is bounded by the source's length."""
    tree = parse(source)
    bounded = _without_finally(tree, source)
    try:
        with _without_warnings():
            compile(bounded, "grader.py", "exec", dont_inherit=True)
    except (RecursionError, MemoryError):
        raise SyntaxError("it is nested too deeply", ("grader.py", 1, 0, "")) from None
    return tree


def _without_finally(tree: ast.Module, source: str) -> ast.Module:
    """The same statements with those of every `finally` behind their `try`.

    The compiler writes them twice, and once more for every return: a few hundred bytes can become gigabytes.
    """
    if not any(isinstance(node, (ast.Try, ast.TryStar)) and node.finalbody for node in ast.walk(tree)):
        return tree
    copied = parse(source)
    waiting: list[ast.AST] = [copied]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, _in_a_row(statements))
        waiting += ast.iter_child_nodes(node)
    return copied


def _in_a_row(statements: list[ast.stmt]) -> list[ast.stmt]:
    row: list[ast.stmt] = []
    rest = deque(statements)
    while rest:
        statement = rest.popleft()
        if isinstance(statement, (ast.Try, ast.TryStar)) and statement.finalbody:
            rest.extendleft(reversed(statement.finalbody))
            statement.finalbody = []
            if not statement.handlers:  # nothing is left to be tried
                always = ast.copy_location(ast.Constant(value=True), statement)
                statement = ast.copy_location(ast.If(always, statement.body, []), statement)
        row.append(statement)
    return row


_quiet = threading.Lock()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Python's remarks on a grader's style are not this process's business; where warnings are errors, they would
    refuse the grader."""
    with _quiet, warnings.catch_warnings(action="ignore"):
        yield


_ODD = re.compile("[\0\ud800-\udfff]")


def last_function(tree: ast.Module, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that counts: the last one of that name directly in the module."""
    function = None
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            function = node
    return function


def parameters(arguments: ast.arguments) -> str:
    """A function's parameters, for a message."""
    try:
        text = ast.unparse(arguments) or "nothing"
        return text if len(text) <= 200 else text[:199] + "…"
    except RecursionError:
        return "parameters that are nested too deeply"


def packages(tree: ast.Module, image: str) -> frozenset[str]:
    """Those packages of the image that the source imports, anywhere."""
    return frozenset(KNOWN[image].modules.keys() & _imported(ast.walk(tree))) if image in KNOWN else frozenset()


def imports(tree: ast.Module) -> frozenset[str]:
    """The top-level modules that the source imports, but for those whose absence it is prepared for by a `try`."""
    prepared = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and node.handlers
        for statement in node.body
        for inner in ast.walk(statement)
    }
    return frozenset(_imported(node for node in ast.walk(tree) if id(node) not in prepared))


def _imported(nodes: Iterable[ast.AST]) -> set[str]:
    modules: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.partition(".")[0])
    return modules


def body_imports(tree: ast.Module) -> ast.Module:
    """The imports that every call comes by, because they stand at the top level, unconditionally."""
    return ast.Module([node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))], [])


def runs_what_it_is_given(tree: ast.Module) -> bool:
    """Whether the source may execute or unpickle text it is handed, which a model's output could then abuse."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
                if name.partition(".")[0] in _RISKY or name in _RISKY:
                    return True
            case ast.ImportFrom(module=str(name)):
                if name.partition(".")[0] in _RISKY:
                    return True
            case ast.Constant(value=str(name)):
                if name in _RISKY:  # getattr(x, "eval")
                    return True
            case _:
                pass
    return False
