"""The fake judge: scripted answers, scripted faults, and the way of a real one in between."""

from typing import Any

import pytest

import fairmark
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.run import grade, grade_many

GRADER: dict[str, Any] = {
    "type": "score_model",
    "model": "any-model",
    "input": [{"role": "user", "content": "{{sample.output_text}}"}],
    "range": [0, 10],
}


def rows(*samples: str) -> list[dict[str, Any]]:
    return [{"item": {}, "sample": sample} for sample in samples]


def rewards(judge: FakeJudge, *samples: str) -> list[float]:
    return [result.reward for result in grade_many(GRADER, rows(*samples), judge=judge)]


@pytest.mark.parametrize(
    "script", [3, 3.0, "3", {"result": 3}, FakeAnswer("3"), FakeAnswer('{"steps": [], "result": 3}')]
)
def test_one_thing_is_said_for_ever(script: Any) -> None:
    assert rewards(FakeJudge(script), "a", "b", "c") == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("script", [[1, "2", {"result": 3}], (1, 2, 3), iter([1, 2, 3]), range(1, 4)])
def test_a_list_is_said_in_its_order(script: Any) -> None:
    assert rewards(FakeJudge(script), "a", "b", "c") == [1.0, 2.0, 3.0]


def test_a_function_is_asked_with_the_messages() -> None:
    judge = FakeJudge(lambda messages: len(messages[-1]["content"]))
    assert rewards(judge, "a", "bbb") == [1.0, 3.0]
    assert judge.asked == [[{"role": "user", "content": "a"}], [{"role": "user", "content": "bbb"}]]


def test_at_the_end_of_its_list_the_fake_fails_and_says_so() -> None:
    first, second = grade_many(GRADER, rows("a", "b"), judge=FakeJudge([1]))
    assert (first.reward, second.status) == (1.0, "error")
    assert second.error == "the fake judge has no answer to question 2."
    assert second.errors["model_grader_server_error"] is True


def test_the_answers_go_the_way_of_a_real_models() -> None:
    result = grade(GRADER, "a", judge=FakeJudge(99))
    assert result.reward == 10.0
    assert len(result.warnings) == 1
    dump = result.model_dump()
    assert dump["metadata"]["sampled_model_name"] == "any-model"
    assert dump["model_grader_token_usage_per_model"] == {
        "any-model": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "cached_tokens": 0}
    }
    assert dump["judgements"][0]["output"] == '{"steps": [], "result": 99}'
    assert dump["cost"] == pytest.approx(120 / 1e6)


def test_tokens_and_time_of_an_answer_may_be_scripted() -> None:
    answer = FakeAnswer("1", latency_s=0.01, prompt_tokens=7, completion_tokens=3)
    (judgement,) = grade(GRADER, "a", judge=FakeJudge(answer)).judgements
    assert judgement.usage.total_tokens == 10
    assert judgement.latency_s > 0


def test_a_fake_costs_no_network_and_works_within_every_call() -> None:
    judge = FakeJudge(5)
    assert next(iter(fairmark.grade_stream(GRADER, rows("a"), judge=judge))).reward == 5.0
    multi = {"type": "multi", "graders": {"a": GRADER}, "calculate_output": "a / 10"}
    assert grade(multi, "b", judge=judge).reward == 0.5


def test_the_same_question_at_the_same_time_is_asked_once() -> None:
    judge = FakeJudge([FakeAnswer("1", latency_s=0.01), 2])
    assert rewards(judge, "same", "same", "other") == [1.0, 1.0, 2.0]
    assert len(judge.asked) == 2


def test_embeddings_of_equal_texts_are_equal_and_long_words_are_no_trouble() -> None:
    similar = {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.r}}",
        "evaluation_metric": "cosine",
    }
    judge = FakeJudge([])
    word = "x" * 50_000
    assert grade(similar, word, {"r": word}, judge=judge).reward == 1.0
    assert judge.texts == [word]
    assert judge.asked == []


def test_the_public_names_are_these() -> None:
    assert fairmark.FakeJudge is FakeJudge
    assert fairmark.FakeAnswer is FakeAnswer
