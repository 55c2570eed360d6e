"""Inside the sandbox: the process of the tests. The code that they test is in another one."""

import ast
import builtins
import sys
import unittest
from types import ModuleType
from typing import Any

from fairmark.graders.programs.wire import Peer, Remote, start

peer = Peer(shares=False)


class Broken(Exception):
    """The tests are none."""


class Solution(ModuleType):
    """`from solution import f`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Remote(peer, name, name)


def free_names(tree: ast.AST) -> set[str]:
    """The names that the tests use and define nowhere: the answer's."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made.add(node.name)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            made.add(node.name)
    return {name for name in used - made if not hasattr(builtins, name)}


def names_for(tree: ast.AST, entry_point: str | None) -> dict[str, Any]:
    names: dict[str, Any] = {name: Remote(peer, name, name) for name in free_names(tree)}
    if entry_point:
        names["candidate"] = names[entry_point] = Remote(peer, entry_point, entry_point)
    return {**names, "__name__": "tests"}


def compiled(statements: list[ast.stmt]) -> Any:
    return compile(ast.Module(statements, []), "tests.py", "exec", dont_inherit=True)


def groups(statements: list[ast.stmt], names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every assertion with the statements before it is a test."""
    tests: list[tuple[str, Any]] = []
    before: list[ast.stmt] = []
    for statement in statements:
        before.append(statement)
        if any(isinstance(node, ast.Assert) for node in ast.walk(statement)):
            code = compiled(before)
            tests.append((ast.unparse(statement)[:200], lambda code=code: exec(code, names)))
            before = []
    return tests


def collect(source: str, setup: str, entry_point: str | None) -> list[tuple[str, Any]]:
    """The tests of a Python source, each with its name: asserts, check(candidate), test functions, unittest's."""
    try:
        tree = ast.parse(source)
        tree.body[:0] = ast.parse(setup).body
    except SyntaxError as error:
        raise Broken(f"line {error.lineno}: not Python: {error.msg}") from None
    names = names_for(tree, entry_point)
    defined = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    loose = [statement for statement in tree.body if not isinstance(statement, defined)]
    exec(compiled([statement for statement in tree.body if isinstance(statement, defined)]), names)
    tests: list[tuple[str, Any]] = []
    for value in list(names.values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value is not unittest.TestCase:
            methods = unittest.defaultTestLoader.getTestCaseNames(value)
            tests += [(f"{value.__name__}.{name}", value(name).debug) for name in methods]
    for statement in tree.body:
        if not isinstance(statement, ast.FunctionDef):
            continue
        if statement.name.startswith("test") and not statement.args.args:
            tests.append((statement.name, names[statement.name]))
        elif statement.name == "check" and len(statement.args.args) == 1:
            tests += checks(statement, names)
    loose = [statement for statement in loose if not is_call(statement)]
    return tests + groups(loose, names)


def is_call(statement: ast.stmt) -> bool:
    """check(candidate) at the end is what we do ourselves; and so is unittest.main()."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id="check"))):
            return True
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
    return False


def checks(function: ast.FunctionDef, names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Each assertion of check(candidate), where its body can be taken apart; else the whole as one."""
    parameter = function.args.args[0].arg
    candidate = names.get("candidate")
    if candidate is None:
        raise Broken("they define check(candidate), and there is no entry_point that says what the candidate is")
    if any(isinstance(node, (ast.Return, ast.Yield, ast.Nonlocal, ast.Global)) for node in ast.walk(function)):
        return [("check", lambda: names["check"](candidate))]
    return groups(function.body, {**names, parameter: candidate})


def cases(listed: list[Any], setup: str, entry_point: str | None) -> list[tuple[str, Any]]:
    """Tests given one by one: a text of Python each, what a program reads and prints, or arguments and a value."""
    tests: list[tuple[str, Any]] = []
    for number, case in enumerate(listed, 1):
        if isinstance(case, str):
            try:
                tree = ast.parse(f"{setup}\n{case}")
            except SyntaxError as error:
                raise Broken(f"test {number}: not Python: {error.msg}") from None
            code, names = compiled(tree.body), names_for(tree, entry_point)
            tests.append((case[:200], lambda code=code, names=names: exec(code, names)))
        elif isinstance(case, dict) and {"input", "output"} <= case.keys():
            tests.append((f"input {number}", lambda case=case: prints(str(case["input"]), str(case["output"]))))
        elif isinstance(case, dict) and "expected" in case:
            name = case.get("function") or entry_point
            if not name:
                raise Broken(f"test {number}: it has no function, and there is no entry_point")
            tests.append((f"{name} {number}", lambda case=case, name=name: gives(name, case)))
        else:
            raise Broken(f"test {number}: expected Python, input and output, or args and expected")
    return tests


def prints(given: str, expected: str) -> None:
    said = peer.call("<script>", [given], {})
    if lines(said) != lines(expected):
        raise AssertionError(f"it printed {said[:200]!r}, not {expected[:200]!r}")


def lines(text: str) -> list[str]:
    """Blanks at the ends of lines and empty lines at the end do not count."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def gives(name: str, case: dict[str, Any]) -> None:
    value = plain(peer.call(name, case.get("args", []), case.get("kwargs", {})))
    if value != case["expected"]:
        raise AssertionError(f"it gave {str(value)[:200]}, not {str(case['expected'])[:200]}")


def plain(value: Any) -> Any:
    """As JSON has it: a tuple is a list there."""
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return {key: plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def talk() -> None:
    order = peer.hear()
    peer.in_place = order["in_place"]
    sys.modules["solution"] = Solution("solution")
    try:
        tests = order["tests"]
        make = cases if isinstance(tests, list) else collect
        found = make(tests, order["setup"], order["entry_point"])
        if not found:
            raise Broken("there is no test in them: no assert, no function test…, no check(candidate), no TestCase")
    except Broken as error:
        peer.say({"op": "broken", "why": str(error)})
        return
    except BaseException as error:
        peer.say({"op": "broken", "why": f"they cannot be loaded: {type(error).__name__}: {error}"[:2000]})
        return
    peer.say({"op": "tests", "names": [name for name, _ in found]})
    for _, test in found:
        why = None
        try:
            test()
        except BaseException as error:
            why = f"{type(error).__name__}: {error}".rstrip(": ")[:500]
        peer.say({"op": "verdict", "why": why})
    peer.say({"op": "end"})


start(peer, talk)


def grade(sample: Any, item: Any) -> int:
    return peer.turn(sample, item)
