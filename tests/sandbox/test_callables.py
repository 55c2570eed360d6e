"""The source of a callable: renamed, with its imports, and with a word about what it would miss."""

import json
import re as regex
from typing import Any

import pytest

from fairmark.sandbox.callables import source_of

OUTSIDE = 3


async def uses_imports(thread: Any) -> float:
    return float(bool(regex.search("x", json.dumps(thread.metadata))))


async def calls_itself(thread: Any, depth: int = 2) -> float:
    return await calls_itself(thread, depth - 1) if depth else 1.0


async def misses_something(thread: Any) -> float:
    own = [word for word in "a b".split()]  # noqa: C416
    return float(len(own) + OUTSIDE)


def test_the_function_is_named_grade_and_keeps_its_own_name_too() -> None:
    source, warnings = source_of(calls_itself)
    assert "async def grade(thread: Any, depth: int=2) -> float:" in source
    assert source.endswith("calls_itself = grade\n")
    assert warnings == []


def test_only_the_imports_that_are_used_come_along() -> None:
    source, warnings = source_of(uses_imports)
    assert source.splitlines()[:3] == ["import json", "import re as regex", "from typing import Any"]
    assert "pytest" not in source
    assert warnings == []


def test_names_from_outside_are_warned_about() -> None:
    assert source_of(misses_something)[1] == ["OUTSIDE is neither defined in the function nor imported by its module"]


def test_a_function_inside_another_is_moved_to_the_left() -> None:
    async def grade(thread: Any) -> float:
        return 1.0

    source, _ = source_of(grade)
    assert source == "from typing import Any\n\nasync def grade(thread: Any) -> float:\n    return 1.0\n"


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (5, "a function is needed, found a int"),
        (len, "cannot be found"),
        (eval("lambda thread: 1"), r"cannot be found|is no def"),  # noqa: S307
        (type("Callable", (), {"__call__": lambda self, t: 1})(), "cannot be found"),
    ],
)
def test_what_has_no_source_is_a_value_error(thing: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        source_of(thing)


def test_a_lambda_in_a_file_is_no_def() -> None:
    grade = lambda thread: 1  # noqa: E731
    with pytest.raises(ValueError, match=r"is no def|cannot be found"):
        source_of(grade)
