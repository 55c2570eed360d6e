"""label_model: the judge's label decides; a label that is none of the list is an error with its flag."""

from typing import Any

import pytest

import fairmark
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.parse import parse
from fairmark.result import Result
from fairmark.run import grade

INPUT = [
    {"role": "system", "content": "You are an expert grader."},
    {"role": "user", "content": "Classify this: {{sample.output_text}} as either good or bad."},
]


def grader(**more: Any) -> dict[str, Any]:
    labels = {"labels": ["good", "bad"], "passing_labels": ["good"]}
    return {"type": "label_model", "name": "tone", "model": "judge", "input": INPUT, **labels, **more}


def ask(script: Any, **more: Any) -> Result:
    return grade(grader(**more), "Well done!", judge=FakeJudge(script))


def set_flags(result: Result) -> list[str]:
    return [key for key, value in result.errors.items() if value]


@pytest.mark.parametrize(("label", "reward", "passed"), [("good", 1.0, True), ("bad", 0.0, False)])
def test_the_reward_is_one_exactly_for_a_passing_label(label: str, reward: float, passed: bool) -> None:
    result = ask(label)
    assert (result.reward, result.passed, result.status, result.error) == (reward, passed, "graded", None)
    assert result.judgements[0].value["result"] == label


@pytest.mark.parametrize(
    ("script", "label"),
    [
        ("Good", "good"),
        (" BAD\n", "bad"),
        ({"label": "bad"}, "bad"),
        (FakeAnswer("good"), "good"),
        (FakeAnswer("**Good**."), "good"),
        (FakeAnswer("The tone is harsh.\n\nLabel: `bad`"), "bad"),
        (FakeAnswer('It could be {"result": "good"}, but no.\n```json\n{"result": "bad"}\n```'), "bad"),
    ],
)
def test_a_label_counts_without_regard_to_case_and_blanks(script: Any, label: str) -> None:
    result = ask(script)
    assert result.status == "graded"
    assert result.judgements[0].value["result"] == label


@pytest.mark.parametrize(("answer", "label"), [("Yes", "Yes"), ("yes", "yes"), ("YES", "Yes"), (" yes ", "Yes")])
def test_the_exact_label_is_looked_for_first(answer: str, label: str) -> None:
    result = ask(answer, labels=["Yes", "yes", "no"], passing_labels=["Yes"])
    assert result.judgements[0].value["result"] == label


def test_labels_fold_as_unicode_says() -> None:
    assert ask("STRASSE", labels=["straße", "weg"], passing_labels=["straße"]).reward == 1.0


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("excellent", 'the label is "excellent", not one of: good, bad'),
        ("goodish", 'the label is "goodish", not one of: good, bad'),
        ("", 'the label is "", not one of: good, bad'),
        (5, "the label is a number (5), not one of: good, bad"),
        ({"result": ["good"]}, "the label is a list of 1, not one of: good, bad"),
        ({"verdict": "good"}, "the answer has no result"),
        (FakeAnswer("good or bad, who knows"), 'there is no verdict in the answer: "good or bad, who knows"'),
        (FakeAnswer(fault="empty"), "the answer is empty"),
    ],
)
def test_a_wrong_label_is_reward_zero_with_its_flag_and_never_just_a_failed_sample(script: Any, found: str) -> None:
    result = ask(script)
    assert (result.reward, result.status, result.passed) == (0.0, "error", False)
    assert set_flags(result) == ["model_grader_parse_error"]
    assert result.error == f"judge: {found}."


@pytest.mark.parametrize(
    ("fault", "flag"),
    [
        ("timeout", "unresponsive_reward_error"),
        ("server_error", "model_grader_server_error"),
        ("refusal", "model_grader_refusal_error"),
        ("cut_off", "truncated_observation_error"),
    ],
)
def test_every_failure_of_a_judge_sets_its_flag(fault: Any, flag: str) -> None:
    result = ask(FakeAnswer("good", fault))
    assert (result.reward, result.status) == (0.0, "error")
    assert flag in set_flags(result)


@pytest.mark.parametrize(
    ("more", "problems"),
    [
        ({"labels": []}, [
            "$.labels: found an empty list. It takes at least one label.",
            '$.passing_labels[0]: "good" is not one of the labels: .',
        ]),
        ({"labels": "good"}, ['$.labels: found a string ("good"). It takes a list of strings.']),
        ({"labels": ["good", 5, ""]}, [
            "$.labels[1]: found a number (5). It takes a string that is not empty.",
            '$.labels[2]: found a string (""). It takes a string that is not empty.',
        ]),
        ({"labels": ["good", "bad", "good"]}, ['$.labels: found "good" twice. Each label stands once.']),
        ({"passing_labels": ["good", "great", "Bad"]}, [
            '$.passing_labels[1]: "great" is not one of the labels: good, bad.',
            '$.passing_labels[2]: "Bad" is not one of the labels: good, bad.',
        ]),
        ({"passing_labels": []}, ["$.passing_labels: found an empty list. It takes at least one label."]),
        ({"passing_labels": None}, ["$.passing_labels: found null. It takes a list of strings."]),
    ],
)  # fmt: skip
def test_every_problem_with_labels_is_told_with_its_path(more: dict[str, Any], problems: list[str]) -> None:
    assert [str(problem) for problem in fairmark.validate(grader(**more)).errors] == problems


def test_labels_must_be_there() -> None:
    given = {"type": "label_model", "model": "judge", "input": INPUT}
    assert [str(problem) for problem in fairmark.validate(given).errors] == [
        "$.labels: missing. It takes a list of strings.",
        "$.passing_labels: missing. It takes a list of strings.",
    ]


@pytest.mark.parametrize("key", ["sampling_params", "sampling_parameters", "model_sampling_params"])
def test_the_guides_spellings_of_sampling_parameters_are_accepted(key: str) -> None:
    given = grader(**{key: {"max_tokens": 32768, "top_p": 1, "seed": 42, "reasoning_effort": "medium"}})
    echo = fairmark.validate(given).grader or {}
    assert echo["sampling_params"] == {
        "max_completions_tokens": 32768,
        "top_p": 1,
        "seed": 42,
        "reasoning_effort": "medium",
    }


def test_null_sampling_parameters_are_echoed_as_null() -> None:
    assert (fairmark.validate(grader(sampling_params=None)).grader or {})["sampling_params"] is None


def test_the_echo_parses_to_the_same_grader() -> None:
    given = grader(pass_threshold=1, custom="kept")
    echo = fairmark.validate(given).grader or {}
    assert (echo["labels"], echo["passing_labels"], echo["custom"]) == (["good", "bad"], ["good"], "kept")
    assert echo["input"][0] == {
        "role": "system",
        "content": {"type": "input_text", "text": "You are an expert grader."},
        "type": "message",
    }
    assert fairmark.validate(echo).grader == echo
    assert parse(echo) == parse(given)


def test_the_schema_that_goes_out_allows_the_labels_only() -> None:
    shape = parse(grader()).shape  # type: ignore[attr-defined]
    assert shape.name == "label"
    assert list(shape.schema["properties"]) == ["steps", "result"]
    assert shape.schema["properties"]["result"] == {"type": "string", "enum": ["good", "bad"]}


def test_templates_do_not_apply_to_labels() -> None:
    result = ask("{{item.a}}", labels=["{{item.a}}", "b"], passing_labels=["{{item.a}}"])
    assert result.reward == 1.0
