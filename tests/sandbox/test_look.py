"""A look at source: what Python would refuse is told with its line, whatever the source, and nothing is run."""

import ast
import subprocess
import sys

import pytest

import fairmark
from fairmark.sandbox import look

HEAD = "async def grade(thread):\n    return 1.0\n"

REFUSED = [
    ("return 1", 3, "'return' outside function"),
    ("def f(a, a): pass", 3, "duplicate argument 'a' in function definition"),
    ("def f():\n    await g()", 4, "'await' outside async function"),
    ("await g()", 3, "'await' outside function"),
    ("nonlocal x", 3, "nonlocal declaration not allowed at module level"),
    ("def f():\n    nonlocal x", 4, "no binding for nonlocal 'x' found"),
    ("break", 3, "'break' outside loop"),
    ("continue", 3, "'continue' not properly in loop"),
    ("yield 1", 3, "'yield' outside function"),
    ("def f():\n    x = 1\n    global x", 5, "name 'x' is assigned to before global declaration"),
    ("from __future__ import annotations", 3, "from __future__ imports must occur at the beginning of the file"),
    ("def f():\n    from os import *", 4, "import * only allowed at module level"),
    ("try:\n    a\nexcept:\n    b\nexcept E:\n    c", 5, "default 'except:' must be last"),
    ("try:\n    a\nfinally:\n    return 1", 6, "'return' outside function"),
    ("try:\n    return 1\nfinally:\n    a", 4, "'return' outside function"),
    ("try:\n  a\nfinally:\n  try:\n    b\n  except E:\n    c\n  finally:\n    break", 11, "'break' outside loop"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "line", "message"), REFUSED)
def test_what_only_the_compiler_refuses_is_told_with_its_line(more: str, line: int, message: str) -> None:
    with pytest.raises(SyntaxError) as told:
        look.check(HEAD + more)
    assert (told.value.lineno, message in told.value.msg) == (line, True), told.value.msg


@pytest.mark.parametrize(("more", "line", "message"), REFUSED)
def test_both_kinds_of_code_are_refused_when_they_are_validated(more: str, line: int, message: str) -> None:
    plain = f"{HEAD}{more}\ndef grade(sample, item):\n    return 1.0\n"
    (problem,) = fairmark.validate({"type": "python", "source": plain}).errors
    assert (problem.path, f"line {line}: not Python: {message}" in problem.message) == ("$.source", True)
    (problem,) = fairmark.validate({"type": "function", "source": HEAD + more}).errors
    assert (problem.path, f"syntax: line {line}: {message}" in problem.message) == ("$.source", True)


@pytest.mark.parametrize(
    "more",
    [
        "for x in y:\n    try:\n        break\n    finally:\n        continue",
        "def f():\n try:\n  return 1\n except* E:\n  pass\n else:\n  a\n finally:\n  return 2",
        "match x:\n case 1:\n  try:\n   a\n  finally:\n   try:\n    b\n   finally:\n    c",
        "async def f():\n    try:\n        await x\n    finally:\n        await y",
    ],
)  # fmt: skip
def test_what_python_takes_is_taken_and_its_tree_is_untouched(more: str) -> None:
    assert ast.dump(look.check(HEAD + more)) == ast.dump(ast.parse(HEAD + more))


@pytest.mark.filterwarnings("error")
def test_remarks_on_style_refuse_nothing() -> None:
    look.check(HEAD + 'a = "\\d"\nassert (a, "b")\na is 1\n')


@pytest.mark.thorough
def test_no_source_takes_the_compiler_long_or_much_memory() -> None:
    """Each of these is a bomb for one who compiles it as it stands, or may be: in a process that may only be small."""
    nested = "".join(f"{' ' * d}try:\n{' ' * d} a\n{' ' * d}finally:\n" for d in range(19)) + " " * 19 + "b\n"
    returns = "def f():\n try:\n" + "  if a:return\n" * 8000 + " finally:\n" + "  a.b.c()\n" * 8000
    sources = [nested, returns, "x = 9**9**9**9\n", "x = 'a' * 10**12\n", "x = 0x" + "f" * 200_000 + "\n",
               "x = " + "9" * 200_000, "x = " + "1+" * 60_000 + "1", "x = " + "lambda:" * 30_000 + "1",
               "x = " + "[a for a in " * 500 + "b" + "]" * 500, "x = f'" + "{a}" * 60_000 + "'"]  # fmt: skip
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000,) * 2)\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (60, 60))\n"
        "from fairmark.sandbox import look\n"
        "for source in eval(sys.stdin.read()):\n"
        "    try:\n"
        "        look.check(source)\n"
        "        print('taken')\n"
        "    except SyntaxError:\n"
        "        print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=repr(sources), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert len(done.stdout.splitlines()) == len(sources)
    assert done.stdout.splitlines()[:4] == ["taken"] * 4
