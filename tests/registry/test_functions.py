"""The checks a function grader passes before it is accepted."""

import pytest

from fairmark.registry.functions import check_function
from fairmark.text.thread import Thread

GOOD = "async def grade(thread: StringThread) -> float:\n    return float(len(thread.completion()))\n"
NAMES = ["size", "syntax", "structure", "signature", "execution", "test_run"]


async def answers_four(thread: "StringThread") -> float:  # type: ignore[name-defined]  # noqa: F821
    return float(thread.completion() == "4")


def test_a_good_function_passes_all_checks_in_their_order() -> None:
    checked = check_function(GOOD)
    assert checked.valid
    assert [check.name for check in checked.checks] == NAMES
    assert all(check.passed for check in checked.checks)
    assert (checked.score, checked.warnings) == (1.0, [])


def test_a_callable_is_checked_on_the_default_thread() -> None:
    assert check_function(answers_four).score == 1.0


def test_the_test_thread_can_be_replaced() -> None:
    assert check_function(GOOD, Thread([("user", "?"), ("assistant", "seven!!")], {})).score == 7.0


@pytest.mark.parametrize(
    ("source", "failed", "message"),
    [
        ("x" * 70_000, "size", "the source has 70000 bytes"),
        ("async def grade(:", "syntax", "line 1"),
        ("def grade(t): return 1", "structure", "line 1 has a sync def"),
        ("async def grade(a, b): return 1", "signature", "exactly one parameter"),
        ("1 / 0\n" + GOOD, "execution", "ZeroDivisionError"),
        ("import os\nos._exit(0)\n" + GOOD, "execution", "ended by itself"),
        (GOOD + "grade = 5\n", "execution", "grade is not callable"),
        ("async def grade(t): return 'four'", "test_run", "grade returned str, not a number"),
        ("async def grade(t): return float('nan')", "test_run", "not a finite number"),
        ("async def grade(t): raise SystemExit", "test_run", "SystemExit"),
    ],
)
def test_the_first_failing_check_is_the_last_one_listed(source: str, failed: str, message: str) -> None:
    checked = check_function(source)
    assert not checked.valid
    assert checked.score is None
    assert [check.name for check in checked.checks] == NAMES[: NAMES.index(failed) + 1]
    assert [check.passed for check in checked.checks][:-1] == [True] * NAMES.index(failed)
    assert not checked.checks[-1].passed
    assert message in checked.checks[-1].message


def test_warnings_are_told_even_where_a_later_check_fails() -> None:
    assert len(check_function("1 / 0\nasync def grade(t): return 1").warnings) == 2
