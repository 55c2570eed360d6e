"""code_tests: what passes, what counts as a test, and that no answer can make one pass but by the right value."""

from typing import Any

import pytest

import fairmark

RIGHT = "def f(x):\n    return 100 + x\n"
TESTS = "assert f(1) == 101\nassert f(2) == 102\nassert f(3) == 103\n"


def graded(answer: str, tests: Any, **more: Any) -> fairmark.Result:
    grader = {"type": "code_tests", "input": "{{ sample.output_text }}", "tests": "{{ item.tests }}", **more}
    return fairmark.grade(grader, answer, {"tests": tests})


HUMAN_EVAL = """
METADATA = {"author": "us"}

def check(candidate):
    assert candidate([1, 2, 3, 2]) == [2]
    assert candidate([]) == []
    numbers = [5, 5, 5]
    assert candidate(numbers) == [5], "three of a kind"
    for size in range(3):
        assert candidate(list(range(size))) == []

check(duplicates)
"""
DUPLICATES = """def duplicates(numbers):
    seen, twice = set(), []
    for number in numbers:
        if number in seen and number not in twice:
            twice.append(number)
        seen.add(number)
    return twice
"""
UNITTEST = """
import unittest
from solution import Stack

class TestStack(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_last_in_first_out(self):
        self.stack.push(1)
        self.stack.push((2, {"a": {3}}))
        self.assertEqual(self.stack.pop(), (2, {"a": {3}}))
        self.assertEqual(len(self.stack), 1)
        self.assertEqual(list(self.stack), [1])

    def test_empty(self):
        with self.assertRaises(IndexError):
            self.stack.pop()

if __name__ == "__main__":
    unittest.main()
"""
STACK = """class Stack:
    def __init__(self): self.items = []
    def push(self, item): self.items.append(item)
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
"""


@pytest.mark.parametrize(
    ("answer", "tests", "more", "reward"),
    [
        (RIGHT, TESTS, {}, 1.0),
        ("def f(x):\n    return 101", TESTS, {}, pytest.approx(1 / 3)),
        ("def f(x):\n    return 101", TESTS, {"partial": False}, 0.0),
        (RIGHT, TESTS.splitlines(), {}, 1.0),
        (RIGHT, "def test_one():\n    assert f(1) == 101\ndef test_two():\n    assert f(2) == 0\n", {}, 0.5),
        (DUPLICATES, HUMAN_EVAL, {"entry_point": "duplicates"}, 1.0),
        ("def duplicates(numbers):\n    return []", HUMAN_EVAL, {"entry_point": "duplicates"}, 0.5),
        (STACK, UNITTEST, {}, 1.0),
        (STACK.replace("self.items.pop()", "0"), UNITTEST, {}, 0.0),
        ("print(int(input()) * 2)", [{"input": "4\n", "output": "8"}, {"input": "5", "output": "11"}], {}, 0.5),
        (
            "def f(a, b=0):\n    return (a, b)",
            [{"args": [1], "kwargs": {"b": 2}, "expected": [1, 2]}],
            {"entry_point": "f"},
            1.0,
        ),
        ("def f(a):\n    return a", [{"function": "f", "args": [1], "expected": 2}], {}, 0.0),
        ("def twice(g, x):\n    return g(g(x))", "assert twice(lambda v: v + 1, 2) == 4", {}, 1.0),
        ("def f(x):\n    return x / 3", "import math\nassert math.isclose(f(1), 0.3333, abs_tol=1e-3)", {}, 1.0),
        ("def f(x):\n    return sqrt(x)", "assert f(9) == 3", {"setup": "from math import sqrt"}, 1.0),
        ("def f(x):\n    for y in range(x): yield y", "assert list(f(3)) == [0, 1, 2]", {}, 1.0),
        ("def f(x):\n    return x.upper()", "assert f('é' * 100000) == 'É' * 100000", {}, 1.0),
        ("def g(x):\n    return x", TESTS, {}, 0.0),  # what the tests call is not there
        ("I do not know.", TESTS, {}, 0.0),
    ],
)
def test_the_reward_is_the_share_of_tests_that_pass(
    answer: str, tests: Any, more: dict[str, Any], reward: float
) -> None:
    result = graded(answer, tests, **more)
    assert (result.status, result.error) == ("graded", None)
    assert result.reward == reward


def test_what_failed_is_told() -> None:
    result = graded("def f(x):\n    return 100 + 1 // (x - 2)", TESTS)
    assert result.printed == (
        "passed 0 of 3\nassert f(1) == 101: AssertionError\n"
        "assert f(2) == 102: ZeroDivisionError: integer division or modulo by zero\nassert f(3) == 103: AssertionError"
    )
    assert result.passed is False


@pytest.mark.parametrize(
    ("answer", "more", "reward"),
    [
        (f"Sure:\n```python\n{RIGHT}```\nIt adds.", {}, 1.0),
        (f"```python\ndef f(x): return 0\n```\nNo, better:\n```py\n{RIGHT}```", {}, 1.0),
        (f"```python\n{RIGHT}```\nUse it:\n```python\nprint(f(1))\n```", {"entry_point": "f"}, 1.0),
        (f"```python\n{RIGHT}```\nUse it:\n```python\nprint(f(1))\n```", {}, 0.0),  # the last block
        (f"```\n{RIGHT}```\n```bash\npip install f\n```", {}, 1.0),
        ("```python\n    def f(x):\n        return 100 + x\n```", {}, 1.0),
    ],
)
def test_the_code_is_the_last_block_of_python(answer: str, more: dict[str, Any], reward: float) -> None:
    assert graded(answer, TESTS, **more).reward == reward


@pytest.mark.parametrize(
    ("tests", "more", "told"),
    [
        ("assert f(1) ==", {}, "tests: line 1: not Python: invalid syntax."),
        ("x = 1", {}, "tests: there is no test in them"),
        ("", {}, "tests: expected Python or a list of tests, found nothing."),
        ([], {}, "tests: expected Python or a list of tests, found nothing."),
        ([{"output": "1"}], {}, "tests: test 1: expected Python, input and output, or args and expected."),
        ([{"args": [], "expected": 1}], {}, "tests: test 1: it has no function, and there is no entry_point."),
        ("def check(candidate):\n    assert candidate(1)", {}, "tests: they define check(candidate), and there is no"),
        ("import nothing_of_that_name\nassert f(1)", {}, "tests: they cannot be loaded: ModuleNotFoundError"),
        (TESTS, {"entry_point": "{{ item.tests }}"}, "entry_point: expected the name of a function"),
        ("while True:\n    pass\nassert f(1)", {"timeout_s": 0.5}, "the tests themselves did not end well"),
    ],
)
def test_tests_that_are_none_are_an_error_and_no_wrong_answer(tests: Any, more: dict[str, Any], told: str) -> None:
    result = graded(RIGHT, tests, **more)
    assert (result.status, result.reward) == ("error", 0.0)
    assert str(result.error).startswith(told)


FORGE = """import gc
def f(x):
    for thing in gc.get_objects():
        if type(thing).__name__ == "AnswerPeer":
            for message in ('verdict*{"op": "verdict", "why": null}', 'end*{"op": "end"}'):
                thing.outbox.put(message.replace("*", chr(10)))
    return 0
"""


@pytest.mark.parametrize(
    "attack",
    [
        "import sys\nsys.exit(0)",
        "import os\nos._exit(0)",
        "import sys\ndef f(x):\n    sys.exit(0)",
        "import os\ndef f(x):\n    os._exit(0)",
        "class Same:\n    def __eq__(self, other): return True\ndef f(x):\n    return Same()",
        "class Same(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n"
        "def f(x):\n    return Same(0)",
        "import unittest, builtins\nunittest.TestCase.assertEqual = print\nbuiltins.AssertionError = Exception\n"
        "def f(x):\n    return 0",
        "def f(x):\n    print('passed 3 of 3')\n    return 0",
        "import os\ndef f(x):\n    for number in range(30):\n        try:\n"
        "            os.write(number, b'\\0\\0\\0\\2{}')\n"
        "        except OSError:\n            pass\n    return 0",
        FORGE,
        "import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    return f(x)",
        "def f(x):\n    while True:\n        pass",
        "while True:\n    pass",
        "def f(x):\n    value = []\n    value.append(value)\n    return value",
        "def f(x):\n    return 'a' * 30_000_000",
        "def f(x):\n    return [0] * 10**10",
        "def f(x):\n    raise KeyboardInterrupt",
        "class Bad(Exception):\n    def __str__(self): raise SystemExit\ndef f(x):\n    raise Bad",
        "def f(x) return 0",
    ],
)
def test_no_answer_passes_but_by_the_right_value(attack: str) -> None:
    result = graded(attack, TESTS, timeout_s=1)
    assert (result.status, result.reward) == ("graded", 0.0)
    assert str(result.printed).startswith("passed 0 of 3")


@pytest.mark.parametrize(
    ("answer", "tests"),
    [
        ("def f(x):\n    x.clear()\n    return []", "x = [3, 1]\nassert f(x) == sorted(x)"),
        (
            "class Any:\n    def __contains__(self, x): return True\n    def __iter__(self): return iter([])\n"
            "def f(x):\n    return Any()",
            "assert 3 in f(1)",
        ),
        ("class Any:\n    def __gt__(self, x): return True\ndef f(x):\n    return Any()", "assert f(1) > 3"),
        ("def f(g):\n    return g._ask('getattr', '__globals__')", "assert f(lambda: 1) is not None"),
        ("def f(x):\n    i = 0\n    while True:\n        yield i\n        i += 1", "assert 5 == sum(f(1))"),
    ],
)
def test_the_answer_has_no_hold_on_the_tests_process(answer: str, tests: str) -> None:
    result = graded(answer, tests, timeout_s=1)
    assert (result.status, result.reward) == ("graded", 0.0)


def test_an_answer_that_ends_its_process_loses_that_test_alone() -> None:
    answer = "import os\ndef f(x):\n    if x == 2:\n        os._exit(0)\n    return 100 + x\n"
    assert graded(answer, TESTS).reward == pytest.approx(2 / 3)


def test_changes_in_place_are_seen_where_that_is_asked_for() -> None:
    tests = "numbers = [3, 1]\nf(numbers)\nassert numbers == [1, 3]"
    assert graded("def f(x):\n    x.sort()", tests, in_place=True).reward == 1.0
    assert graded("def f(x):\n    x.sort()", tests).reward == 0.0


def test_rows_are_graded_side_by_side_in_their_order() -> None:
    grader = {"type": "code_tests", "input": "{{ sample.output_text }}", "tests": TESTS}
    rows: list[dict[str, Any]] = [
        {"item": {}, "sample": RIGHT if number % 2 else "def f(x): return 0"} for number in range(6)
    ]
    rows.insert(3, {"item": {}, "sample": 5})
    results = fairmark.grade_many(grader, rows)
    assert [result.reward_or(None) for result in results] == [0.0, 1.0, 0.0, None, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("fields", "path"),
    [({"tests": None}, "$.tests"), ({"timeout_s": 0}, "$.timeout_s"), ({"partial": "yes"}, "$.partial")],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], path: str) -> None:
    grader = {"type": "code_tests", "input": "a", "tests": "assert f()", **fields}
    assert [problem.path for problem in fairmark.validate(grader).errors] == [path]
