"""Answers of a model to items: as many as are asked for, and what becomes of those that do not come."""

from collections.abc import Sequence
from typing import Any

import pytest

from fairmark.errors import InvalidData
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.trainers.check import answered
from fairmark.trainers.sampled import messages_of, sample_answers

ITEMS = [{"question": "2+2?", "answer": "4"}, {"question": "3+3?", "answer": "6"}]


def said(row: dict[str, Any]) -> str:
    return str(row["sample"]["choices"][0]["message"]["content"])


def test_every_item_has_its_answers_side_by_side_and_the_same_item_is_asked_once() -> None:
    numbers = iter(range(100))
    judge = FakeJudge(lambda messages: FakeAnswer(f"{messages[-1]['content']} {next(numbers)}"))
    told: list[tuple[int, float]] = []
    answers = sample_answers(
        [*ITEMS, ITEMS[0]], "m", 40, tell=lambda asked, share: told.append((asked, share)), judge=judge
    )
    assert [row["item"] for row in answers.rows] == [ITEMS[0]] * 40 + [ITEMS[1]] * 40
    assert len(set(map(said, answers.rows))) == 80
    assert said(answers.rows[0]).startswith("2+2? ")
    assert told == [(64, 0.8), (80, 1.0)]
    assert (answers.asked, answers.failed.total()) == (80, 0)
    assert answers.dollars is not None


def test_answers_that_do_not_come_are_told_and_not_graded() -> None:
    judge = FakeJudge([FakeAnswer("4"), FakeAnswer("")])
    answers = sample_answers(ITEMS[:1], "m", 3, judge=judge)
    assert [said(row) for row in answers.rows] == ["4", ""]  # nothing is an answer too
    found = answered(answers, "m")
    assert found.ok is False
    assert "2 by m" in found.words
    assert "1 of 3 did not come. " in found.words


def test_a_model_that_answers_nothing_is_an_error() -> None:
    with pytest.raises(InvalidData, match="--sample m: it answered none of 2 times"):
        sample_answers(ITEMS, "m", 1, judge=FakeJudge([]))


@pytest.mark.parametrize(
    ("item", "field", "messages"),
    [
        ({"prompt": "a", "question": "b"}, None, [("user", "a")]),
        ({"prompt": "a", "question": "b"}, "question", [("user", "b")]),
        ({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]}, None,
         [("system", "s"), ("user", "u")]),
    ],
)  # fmt: skip
def test_what_is_asked(item: Any, field: str | None, messages: Sequence[tuple[str, str]]) -> None:
    assert [(message["role"], message["content"]) for message in messages_of(item, field)] == messages


@pytest.mark.parametrize("item", [{"text": "a"}, {"prompt": 3}, {"prompt": ""}, {"messages": ["a"]}, None, "a"])
def test_an_item_that_asks_nothing_is_refused_with_its_fields(item: Any) -> None:
    with pytest.raises(InvalidData, match="an item has nothing to ask"):
        sample_answers([item], "m", 1, judge=FakeJudge("x"))
