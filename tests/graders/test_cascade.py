"""cascade."""

from typing import Any

import pytest

import fairmark
from fairmark.judges.fake import FakeJudge
from fairmark.references import Registered, find, may_hold, replace

CHEAP = {
    "type": "text_similarity",
    "name": "cheap",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "evaluation_metric": "fuzzy_match",
}
DEAR = {
    "type": "score_model",
    "name": "dear",
    "model": "judge",
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
}


def cascade(*graders: Any, **more: Any) -> dict[str, Any]:
    return {"type": "cascade", "graders": list(graders or (CHEAP, DEAR)), "unsure": [0.2, 0.8], **more}


def row(text: str) -> dict[str, Any]:
    return {"item": {"answer": "abcdefghij"}, "sample": text}


def test_the_dear_grader_is_asked_only_where_the_cheap_one_is_unsure() -> None:
    judge = FakeJudge(0.9)
    rows = [row("abcdefghij"), row("abcde"), row("zzzz")]
    results = fairmark.grade_many(cascade(), rows, judge=judge)
    assert [result.reward for result in results] == [1.0, 0.9, 0.0]
    assert [list(result.sub_rewards) for result in results] == [["cheap"], ["cheap", "dear"], ["cheap"]]
    assert [len(result.judgements) for result in results] == [0, 1, 0]
    assert len(judge.asked) == 1


@pytest.mark.parametrize(
    ("unsure", "asked"), [([0, 0], False), ([1, 1], True), ([0.99, 1.5], True), ([-1, 0.99], False)]
)
def test_both_bounds_are_unsure_too(unsure: list[float], asked: bool) -> None:
    judge = FakeJudge(0.5)
    (result,) = fairmark.grade_many(cascade(unsure=unsure), [row("abcdefghij")], judge=judge)
    assert result.reward == (0.5 if asked else 1.0)


def test_a_cheap_grader_that_fails_knows_nothing_so_the_next_one_is_asked() -> None:
    judge = FakeJudge(0.7)
    (result,) = fairmark.grade_many(cascade(), [{"item": {"other": 1}, "sample": "abc"}], judge=judge)
    assert (result.reward, result.status, result.sub_rewards) == (0.7, "graded", {"dear": 0.7})
    assert any(warning.startswith("cheap failed, so dear was asked: {{ item.answer }}") for warning in result.warnings)


def test_a_last_grader_that_fails_is_an_error_with_its_flag() -> None:
    judge = FakeJudge("no number at all")
    (result,) = fairmark.grade_many(cascade(), [row("abcde")], judge=judge)
    assert (result.status, result.errors["model_grader_parse_error"]) == ("error", True)
    assert str(result.error).startswith("dear: ")


def test_it_passes_by_the_threshold_of_the_last_grader_unless_it_has_its_own() -> None:
    judge = FakeJudge(0.6)
    grader = cascade(CHEAP, {**DEAR, "pass_threshold": 0.7})
    assert fairmark.grade_many(grader, [row("abcde")], judge=judge)[0].passed is False
    assert fairmark.grade_many({**grader, "pass_threshold": 0.5}, [row("abcde")], judge=judge)[0].passed is True


def test_it_works_inside_a_combination_and_without_waiting() -> None:
    exact = {"type": "string_check", "name": "exact", "operation": "eq", "input": "{{ sample.output_text }}"}
    inner = cascade({**exact, "reference": "a"}, {**exact, "name": "also", "reference": "b"}, unsure=[0, 0])
    combined = {"type": "multi", "graders": {"x": inner}, "calculate_output": "2 * x"}
    assert [fairmark.grade(combined, text).reward for text in ("a", "b", "c")] == [2.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"graders": [CHEAP]},
            "$.graders: found a list of 1. It takes a list of at least two graders, the cheapest first.",
        ),
        ({"graders": [CHEAP, CHEAP]}, '$.graders[1].name: found "cheap" again. Each grader needs its own name.'),
        (
            {"graders": [CHEAP, {**DEAR, "range": [1, 5]}]},
            "$.graders[1]: its rewards go from 1 to 5, those of the grader before it from 0 to 1. "
            "All graders of a cascade need the same range.",
        ),
        (
            {"unsure": [0.8, 0.2]},
            "$.unsure: found [0.8, 0.2]. It takes the lowest and the highest reward that is unsure: [0.2, 0.8].",
        ),
        (
            {"graders": [CHEAP, {"type": "multi"}]},
            "$.graders[1].type: a multi grader cannot stand inside a cascade. "
            "It takes a list of at least two graders, the cheapest first.",
        ),
        ({"graders": [{**CHEAP, "evaluation_metric": None}, DEAR]}, None),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], told: str | None) -> None:
    (problem,) = fairmark.validate(cascade(**fields)).errors
    assert told is None or str(problem) == told
    assert told is not None or problem.path == "$.graders[0].evaluation_metric"


def test_a_band_that_nothing_reaches_is_warned_of() -> None:
    warnings = fairmark.validate(cascade(unsure=[2, 3])).warnings
    assert "$.unsure: the rewards of cheap go from 0 to 1, so it is never unsure." in warnings


def test_registered_graders_stand_in_it_at_any_depth() -> None:
    reference = {"type": "registered", "key": "cheap"}
    grader = {"type": "multi", "graders": {"x": cascade(reference, DEAR)}, "calculate_output": "x"}
    assert may_hold(grader)
    assert [place.path for place in find(grader)] == ["$.graders.x.graders[0]"]
    replaced = replace(grader, {("cheap", None): Registered("grader_1", "cheap", 1, CHEAP)})
    assert replaced["graders"]["x"]["graders"][0]["evaluation_metric"] == "fuzzy_match"
    assert fairmark.validate(replaced).valid


def test_the_normalised_grader_is_the_same_grader() -> None:
    echo = fairmark.validate(cascade()).grader
    assert echo is not None
    assert [grader["name"] for grader in echo["graders"]] == ["cheap", "dear"]
    assert fairmark.validate(echo).grader == echo
