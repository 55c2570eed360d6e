"""The sandbox before the first batch."""

import time
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.parse import parse
from fairmark.trainers import trl
from fairmark.trainers.warming import open_sandbox


def code(source: str) -> dict[str, Any]:
    return {"type": "python", "name": "code", "source": source}


GRADE = "def grade(sample, item):\n    return item['n']\n"


@pytest.mark.parametrize(
    ("before", "why"),
    [
        ("X = foo\n", "NameError: name 'foo' is not defined"),
        ("open('/data/reference.json')\n", "FileNotFoundError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_code_that_fails_before_it_sees_a_row_is_refused_before_the_first(before: str, why: str) -> None:
    inside = {"type": "multi", "name": "m", "graders": {"a": code(before + GRADE)}, "calculate_output": "a"}
    with pytest.raises(InvalidGrader, match=why) as refused:
        trl.reward(inside)
    assert refused.value.problems[0].path == "$.graders.a"


def test_code_that_fails_on_a_row_without_fields_is_loaded() -> None:
    open_sandbox(parse(code(GRADE)))


def test_code_that_never_ends_to_load_is_told_within_the_deadline(caplog: pytest.LogCaptureFixture) -> None:
    began = time.monotonic()
    open_sandbox(parse(code(f"while True:\n    pass\n{GRADE}")), deadline_s=1.5)
    assert time.monotonic() - began < 20
    assert "code: its code is not loaded after 1.5 s" in caplog.text
