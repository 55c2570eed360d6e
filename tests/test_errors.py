"""Every error has its place in one file, with what the wire needs to know of it."""

import ast
import pickle
import re
from pathlib import Path

import pytest

from fairmark import errors
from fairmark.errors import (
    ERROR_KEYS,
    ApiError,
    FairmarkError,
    GradingFailed,
    InvalidData,
    InvalidGrader,
    Problem,
    SandboxFailed,
)
from fairmark.refusals import refused

SOURCE = Path(errors.__file__).parent
OURS = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, FairmarkError)}


def defined(text: str) -> list[str]:
    """The classes in a file that stand on an error of ours. It is parsed where a first look finds any."""
    if not re.search(rf"^\s*class\b[^:]*\b({'|'.join(OURS)})\b", text, flags=re.MULTILINE):
        return []
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id in OURS for base in node.bases)
    ]


def test_no_error_of_ours_is_defined_anywhere_else() -> None:
    elsewhere = {path.relative_to(SOURCE): defined(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert len(elsewhere.pop(Path("errors.py"))) > 10
    assert {path: names for path, names in elsewhere.items() if names} == {}


@pytest.mark.parametrize(
    "error",
    [
        InvalidGrader([Problem("$.type", "unknown"), Problem("$.name", "missing")]),
        SandboxFailed("timeout", "it took too long"),
        InvalidData("no JSON", 3),
        ApiError(429, "not now", code="later", headers={"retry-after": "1"}),
        GradingFailed("not a number"),
    ],
)
def test_an_error_says_the_same_in_another_process(error: FairmarkError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_every_failure_of_a_row_names_a_flag_of_the_wire() -> None:
    failures = [kind for kind in OURS.values() if issubclass(kind, GradingFailed)]
    assert len(failures) > 10
    assert all(kind.flag in ERROR_KEYS for kind in failures)
    assert all(kind.details_key in (None, *ERROR_KEYS) for kind in failures)


def test_every_error_names_the_answer_to_a_request_that_meets_it() -> None:
    assert {kind.status for kind in OURS.values()} == {400, 404, 409, 423, 503, 507}
    answer = refused(errors.LockedGrader("it is locked."))
    assert isinstance(answer, ApiError)
    assert (answer.status, answer.code, answer.param, answer.message) == (423, "locked", "key", "it is locked.")


def test_problems_are_told_with_their_places() -> None:
    error = InvalidGrader.at("$.operation", "missing.")
    assert (str(error), error.status) == ("$.operation: missing.", 400)
