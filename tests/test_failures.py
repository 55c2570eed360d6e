"""What becomes of an exception: a row's grade, or words."""

import logging
import re
from pathlib import Path

import pytest

from fairmark import failures
from fairmark.errors import InvalidSettings, JudgeRefused, NotGraded, SandboxFailed
from fairmark.failures import as_failure, as_grade, in_words

SOURCE = Path(failures.__file__).parent
ELSEWHERE = ("sandbox/inside/", "graders/programs/", "sandbox/build.py", "judges/local_process.py", "cli/__init__.py")
"""What runs in processes that know nothing of the rest of us; and the command line, whose words end on a terminal."""


@pytest.mark.parametrize(
    ("error", "told", "flags"),
    [
        (JudgeRefused("it would not."), "it would not.", {"model_grader_refusal_error": True}),
        (InvalidSettings("models: none."), "models: none.", {"other_error": True}),
        (RecursionError("maximum depth"), "the row is nested too deeply.", {"other_error": True}),
        (MemoryError(), "the row needs more memory than there is.", {"other_error": True}),
        (KeyError("price"), "internal error: KeyError: 'price'", {"other_error": True}),
    ],
)
def test_a_row_on_which_something_is_raised_fails_with_its_words_and_its_flag(
    error: Exception, told: str, flags: dict[str, bool]
) -> None:
    grade = as_grade(error)
    assert (grade.reward, grade.error, grade.flags, grade.skipped) == (0.0, told, flags, None)


def test_what_was_left_out_on_purpose_is_no_failure() -> None:
    grade = as_grade(NotGraded("the budget is spent."))
    assert (grade.error, grade.skipped, grade.flags) == (None, "the budget is spent.", {})


def test_a_failure_keeps_all_that_it_knows() -> None:
    failure = SandboxFailed("oom", "too much memory.")
    assert as_failure(failure) is failure


def test_only_what_nobody_has_foreseen_is_logged_with_where_it_happened(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "fairmark")
    as_failure(JudgeRefused("no."))
    as_failure(RecursionError())
    assert caplog.records == []
    as_failure(ZeroDivisionError("division by zero"))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_words_name_the_kind_of_an_exception() -> None:
    assert in_words(KeyError("price")) == "KeyError: 'price'"


def test_no_other_module_words_what_was_raised() -> None:
    worded = re.compile(r"type\((\w+)\)\.__name__\}: \{\1")
    modules = {path.relative_to(SOURCE).as_posix(): path.read_text() for path in SOURCE.rglob("*.py")}
    found = {name for name, text in modules.items() if worded.search(text) and not name.startswith(ELSEWHERE)}
    assert found == {"failures.py"}
