"""text_similarity by cosine: embeddings of both texts, asked for together."""

import math
from typing import Any

import pytest

import fairmark
from fairmark.errors import JudgeFailed
from fairmark.graders.text_similarity import cosine
from fairmark.judges.base import Budget, Embedded
from fairmark.judges.fake import FakeJudge
from fairmark.run import grade, grade_many


def grader(**more: Any) -> dict[str, Any]:
    return {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference}}",
        "evaluation_metric": "cosine",
        **more,
    }


def row(sample: str, reference: str) -> dict[str, Any]:
    return {"item": {"reference": reference}, "sample": sample}


class Vectors(FakeJudge):
    """Gives the vectors it was told to, or fails."""

    def __init__(self, vectors: dict[str, list[float]], failure: Exception | None = None) -> None:
        super().__init__([])
        self.models: list[str] = []
        self._vectors = vectors
        self._failure = failure

    async def embed(self, model: str, texts: Any, budget: Budget | None) -> Embedded:
        self.models.append(model)
        self.texts += texts
        if self._failure:
            raise self._failure
        return Embedded([self._vectors[text] for text in texts], f"{model}-2", cost=0.5, requests=1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 0], [1, 0], 1.0),
        ([1, 0], [0, 1], 0.0),
        ([1, 0], [-1, 0], -1.0),
        ([1, 1], [1, 0], math.sqrt(0.5)),
        ([3, 4], [6, 8], 1.0),
        ([0, 0], [1, 0], 0.0),
        ([0, 0], [0, 0], 0.0),
        ([1e200, 0], [1e-200, 0], 1.0),
    ],
)
def test_cosine_is_that_of_the_angle_and_zero_without_a_direction(
    first: list[float], second: list[float], expected: float
) -> None:
    assert cosine(first, second) == pytest.approx(expected, abs=1e-15)
    assert cosine(first, second) <= 1.0


def test_the_reward_is_the_cosine_of_the_two_texts() -> None:
    judge = Vectors({"a": [1.0, 1.0], "b": [1.0, 0.0]})
    result = grade(grader(pass_threshold=0.7), "a", {"reference": "b"}, judge=judge)
    assert result.reward == pytest.approx(math.sqrt(0.5))
    assert (result.passed, result.status) == (True, "graded")


def test_texts_that_point_apart_get_zero_and_not_less() -> None:
    judge = Vectors({"a": [1.0, 0.0], "b": [-1.0, 0.0]})
    assert grade(grader(), "a", {"reference": "b"}, judge=judge).reward == 0.0


def test_the_model_is_openais_unless_the_grader_names_another() -> None:
    judge = Vectors({"a": [1.0], "b": [1.0]})
    grade(grader(), "a", {"reference": "b"}, judge=judge)
    grade(grader(embedding_model="local/minilm"), "a", {"reference": "b"}, judge=judge)
    assert judge.models == ["text-embedding-3-large", "local/minilm"]
    assert (fairmark.validate(grader(embedding_model="m")).grader or {})["embedding_model"] == "m"
    assert "embedding_model" not in (fairmark.validate(grader()).grader or {})
    (problem,) = fairmark.validate(grader(embedding_model=5)).errors
    assert str(problem) == "$.embedding_model: found a number (5). It takes a string."


def test_all_texts_of_a_batch_are_embedded_together_and_each_once() -> None:
    judge = Vectors({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]})
    results = grade_many(grader(), [row("a", "b"), row("b", "a"), row("c", "c"), row("a", "a")], judge=judge)
    assert [result.reward for result in results] == [0.0, 0.0, 1.0, 1.0]
    assert judge.texts == ["a", "b", "c"]


def test_the_first_row_of_a_batch_carries_the_bill() -> None:
    judge = Vectors({"a": [1.0], "b": [1.0]})
    results = grade_many(grader(), [row("", "b"), row("a", "b"), row("b", "a")], judge=judge)
    assert [result.cost for result in results] == [None, 0.5, 0.0]
    assert results[1].model_dump()["metadata"]["sampled_model_name"] == "text-embedding-3-large-2"
    assert [judgement.attempts for result in results for judgement in result.judgements] == [1, 0]


def test_an_empty_text_is_like_nothing_and_nobody_is_asked() -> None:
    judge = Vectors({})
    for sample, reference in (("", ""), ("a", ""), ("", "a")):
        result = grade(grader(), sample, {"reference": reference}, judge=judge)
        assert (result.reward, result.status) == (0.0, "graded")
    assert judge.texts == []


def test_a_failure_of_the_model_is_told_on_the_rows_that_needed_it_and_on_no_other() -> None:
    judge = Vectors({}, JudgeFailed("no such model."))
    results = grade_many(grader(), [row("a", "b"), row("", "b"), {"item": {}, "sample": "a"}], judge=judge)
    assert [result.status for result in results] == ["error", "graded", "error"]
    flags = [[key for key, value in result.errors.items() if value] for result in results]
    assert flags == [
        ["model_grader_server_error", "model_grader_server_error_details"],
        [],
        ["invalid_variable_error"],
    ]
    assert results[0].errors["model_grader_server_error_details"] == results[0].error == "no such model."


def test_rows_beyond_the_budget_are_skipped() -> None:
    results = grade_many(grader(), [row("a", "b"), row("", "b")], judge=FakeJudge([]), budget=Budget(tokens=0))
    assert [result.status for result in results] == ["skipped", "graded"]
    assert results[0].skipped == "not asked: the budget of 0 tokens is spent."


def test_texts_that_share_words_are_alike_to_the_fake() -> None:
    judge = FakeJudge([])
    rows = [row("the cat sat", "the cat sat"), row("the cat sat", "the cat ran"), row("the cat sat", "blue ocean")]
    same, near, far = (result.reward for result in grade_many(grader(), rows, judge=judge))
    assert same == 1.0 > near > far


def test_metrics_that_need_no_model_never_ask_one() -> None:
    judge = Vectors({}, JudgeFailed("asked"))
    assert grade(grader(evaluation_metric="rouge_1"), "a b", {"reference": "a b"}, judge=judge).reward == 1.0
