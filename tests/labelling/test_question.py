"""What raters are asked."""

from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.labelling.question import find_question, questions

EXACT = {"type": "string_check", "name": "exact", "input": "x", "reference": "y", "operation": "eq", "id": "exact-1"}
JUDGE: dict[str, Any] = {
    "type": "label_model", "name": "tone", "model": "m", "labels": ["kind", "rude"], "passing_labels": ["kind"],
    "input": [{"role": "user", "content": "Is this kind? {{ sample.output_text }}"}], "id": "tone-1",
}  # fmt: skip
SCORE: dict[str, Any] = {
    "type": "score_model", "name": "help", "model": "m", "range": [1, 5],
    "input": [{"role": "user", "content": "How helpful?"}], "id": "help-1",
}  # fmt: skip
PAIR = {**JUDGE, "name": "pair", "labels": ["A", "B", "tie"], "passing_labels": ["A"], "id": "pair-1"}


def keys(*criteria: dict[str, Any]) -> list[str]:
    return [f"{question.name} {question.kind}" for question in questions(criteria)]


def test_each_kind_of_grader_asks_for_what_it_gives_itself() -> None:
    assert keys(EXACT) == ["exact label", "exact preferred"]
    assert keys(SCORE) == ["help label", "help score", "help preferred"]
    assert keys(PAIR) == ["pair preferred"]
    assert keys(EXACT, JUDGE)[:3] == ["tone label", "exact label", "the answer as a whole label"]


def test_keys_are_letters_for_pass_and_fail_and_numbers_for_the_others() -> None:
    of = {f"{question.name} {question.kind}": question for question in questions([EXACT, JUDGE, SCORE])}
    assert [choice.key for choice in of["exact label"].choices] == ["p", "f"]
    assert [(choice.value, choice.key) for choice in of["tone label"].choices] == [("kind", "1"), ("rude", "2")]
    assert [(choice.value, choice.key) for choice in of["help score"].choices] == [
        (1.0, "1"), (2.0, "2"), (3.0, "3"), (4.0, "4"), (5.0, "5"),
    ]  # fmt: skip
    assert [choice.key for choice in of["tone preferred"].choices] == ["a", "b", "t"]
    unit = questions([{**SCORE, "range": [0, 1]}])[1]
    assert [(choice.value, choice.key) for choice in unit.choices] == [
        (0.0, "1"), (0.25, "2"), (0.5, "3"), (0.75, "4"), (1.0, "5"),
    ]  # fmt: skip


def test_the_rubric_is_the_graders_own_words_without_what_rows_fill_in() -> None:
    assert questions([JUDGE])[0].rubric == ("Is this kind?",)
    assert questions([EXACT])[0].rubric == ()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "holds one of label, score, preferred; found none of them"),
        ({"label": "kind", "score": 1}, "found label and score"),
        ({"label": "kind", "criterion": "tune"}, 'found "tune". This run has: "tone", "help"'),
        ({"label": "kind", "criterion": 7}, "expected a string"),
        ({"score": 3}, 'A score is about one of them: "tone", "help"'),
        ({"label": "nice", "criterion": "tone"}, 'found "nice". Use one of: kind, rude, pass, fail'),
        ({"label": 1, "criterion": "tone"}, "expected a string"),
        ({"score": 9, "criterion": "help"}, 'outside the range of "help", 1 to 5'),
        ({"score": True, "criterion": "help"}, "expected a number"),
        ({"score": float("nan"), "criterion": "help"}, "expected a number"),
        ({"preferred": "c", "criterion": "tone"}, "Use one of: a, b, tie"),
    ],
)
def test_what_cannot_be_said_is_refused_in_words(body: dict[str, Any], words: str) -> None:
    def said() -> None:
        asked = find_question([JUDGE, SCORE], body)
        asked.check(body[asked.kind])

    with pytest.raises(ApiError) as error:
        said()
    assert error.value.status == 400
    assert words in error.value.message


def test_a_criterion_is_found_by_its_id_and_by_its_name() -> None:
    for name in ("tone", "tone-1"):
        found = find_question([JUDGE, SCORE], {"label": "rude", "criterion": name})
        assert (found.criterion, found.check("rude"), found.passes("rude"), found.passes("kind")) == (
            "tone-1", "rude", False, True,
        )  # fmt: skip
    with pytest.raises(ApiError, match="several are called"):
        find_question([JUDGE, {**JUDGE, "id": "tone-2"}], {"label": "kind", "criterion": "tone"})
