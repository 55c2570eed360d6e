"""The class as ms-swift uses it: instances of its own, a batch a call, logged under the name of the class."""

import logging
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.trainers import swift
from tests.trainers.test_trl import BOTH, EXACT


def conversation(answer: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": "Capital?"}, {"role": "assistant", "content": answer}]


def ask(function: Any, **columns: Any) -> Any:
    answers = ["Paris", "Rome"]
    return function(
        answers, messages=[conversation(answer) for answer in answers], answer=["Paris"] * 2,
        trainer_state=SimpleNamespace(), **columns,
    )  # fmt: skip


def test_instances_are_logged_under_the_graders_name() -> None:
    orms = {"quality": swift.reward(BOTH)}
    function = orms["quality"](args=SimpleNamespace())
    assert type(function).__name__ == "both"
    assert ask(function) == [1.5, 0.4]


def test_the_answer_is_not_part_of_what_was_asked() -> None:
    last = {**EXACT, "reference": "{{item.messages.0.content}}"}
    function = swift.reward(last)()
    assert function(["Capital?"], messages=[conversation("Capital?")]) == [1.0]
    counting = {"type": "python", "name": "turns", "source": "def grade(s, item):\n    return len(item['messages'])\n"}
    assert swift.reward(counting)()(["Paris"], messages=[conversation("Paris")]) == [1.0]


def test_a_failure_is_none_and_said_to_count(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        function = swift.reward(BOTH)()
        assert ask(function, fail=[True, False]) == [None, 0.4]
    assert "counts those as 0" in caplog.records[0].message
    assert "1 of 2 rows were not graded" in caplog.records[1].message
    assert ask(swift.reward(BOTH, on_error=-1)(), fail=[True, False]) == [-1.0, 0.4]


def test_a_wrong_grader_is_told_when_the_class_is_made() -> None:
    with pytest.raises(InvalidGrader):
        swift.reward({**EXACT, "operation": "equals"})


def test_an_instance_pickles() -> None:
    again = pickle.loads(pickle.dumps(swift.reward(BOTH)()))  # noqa: S301
    assert type(again).__name__ == "both"
    assert ask(again) == [1.5, 0.4]
