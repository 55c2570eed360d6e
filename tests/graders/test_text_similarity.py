"""text_similarity."""

from pathlib import Path

import pytest

import fairmark
from fairmark.judges.asking import AskingJudge
from fairmark.judges.cache import Cache
from fairmark.judges.fake import FakeJudge
from fairmark.judges.models import ModelRegistry

CURIE = "According to wikipedia, Marie Curie was not born in Paris but in Warsaw."
BORN = "Marie Curie was born in Warsaw."


def grader(metric: str, **more: object) -> dict[str, object]:
    return {
        "type": "text_similarity",
        "input": "{{sample.output_text}}",
        "reference": "{{item.reference}}",
        "evaluation_metric": metric,
        **more,
    }


@pytest.mark.parametrize(
    ("metric", "reward"),
    [
        ("bleu", 0.1550967560878879),
        ("gleu", 0.25925925925925924),
        ("meteor", 0.8621140763997908),
        ("rouge_l", 0.631578947368421),
    ],
)
def test_the_published_rewards_are_reached_to_the_last_digit(metric: str, reward: float) -> None:
    assert fairmark.grade(grader(metric), CURIE, {"reference": BORN}).reward == reward


def test_fuzzy_match_on_the_published_azure_rows(northwind: list[dict[str, str]]) -> None:
    fuzzy = {
        "type": "text_similarity",
        "input": "{{item.response}}",
        "reference": "{{item.ground_truth}}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.5,
    }
    results = fairmark.grade_many(fuzzy, northwind)
    assert [result.reward for result in results] == [
        0.5342163355408389,
        0.48369565217391314,
        0.4444444444444444,
        0.3416557161629436,
        0.6117136659436009,
    ]
    assert [result.passed for result in results] == [True, False, False, False, True]


@pytest.mark.parametrize(("threshold", "passed"), [(0.631578947368421, True), (0.6315789473684211, False), (1, False)])
def test_a_reward_passes_when_it_reaches_the_threshold(threshold: float, passed: bool) -> None:
    result = fairmark.grade(grader("rouge_l", pass_threshold=threshold), CURIE, {"reference": BORN})
    assert result.passed is passed


def test_without_a_threshold_nobody_says_whether_it_passed() -> None:
    assert fairmark.grade(grader("rouge_l"), CURIE, {"reference": BORN}).passed is None


@pytest.mark.parametrize("metric", fairmark.metrics.METRICS)
@pytest.mark.parametrize(("text", "reference"), [("", ""), ("a", ""), ("", "a")])
def test_an_empty_side_scores_zero_and_two_empty_sides_match_only_fuzzily(
    metric: str, text: str, reference: str
) -> None:
    expected = 1.0 if metric == "fuzzy_match" and text == reference else 0.0
    assert fairmark.grade(grader(metric), text, {"reference": reference}).reward == expected


def test_cosine_without_an_embedding_model_is_valid_and_fails_with_its_flag() -> None:
    assert fairmark.validate(grader("cosine")).valid
    nobody = AskingJudge(ModelRegistry({}, {}, {}, None), FakeJudge([]), Cache(Path(), "off", 0))
    result = fairmark.grade(grader("cosine"), CURIE, {"reference": BORN}, judge=nobody)
    assert (result.reward, result.status) == (0.0, "error")
    assert result.errors["model_grader_server_error"] is True
    assert result.errors["model_grader_server_error_details"] == result.error
    assert (result.error or "").startswith('unknown model "text-embedding-3-large". Configured: none.')
