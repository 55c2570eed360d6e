"""The grader under check: its scale, its verdicts, its versions."""

from typing import Any

import pytest

import fairmark
from fairmark import parse
from fairmark.errors import InvalidData
from fairmark.trust.labelled import Labelled, collect
from fairmark.trust.subject import Subject

QUESTION = [{"role": "user", "content": "Good? {{ sample.output_text }}"}]
SCORE = {"type": "score_model", "name": "s", "model": "m", "input": QUESTION, "range": [1, 5]}
LABEL = {
    "type": "label_model", "name": "l", "model": "m", "input": QUESTION,
    "labels": ["good", "fair", "bad"], "passing_labels": ["good", "fair"],
}  # fmt: skip
PAIR = {**LABEL, "labels": ["A", "B", "Tie"], "passing_labels": ["A"]}


def rows(**people: Any) -> Labelled:
    return collect([(4, {"item": {}, "sample": "x", **people})], "f.jsonl")


def subject(grader: dict[str, Any], labelled: Labelled, **more: Any) -> Subject:
    return Subject.of(parse.parse(grader), labelled, **more)


@pytest.mark.parametrize(
    ("grader", "people", "mode"),
    [
        (LABEL, {"label": "fair"}, "label"),
        (LABEL, {"label": "pass"}, "pass"),
        (SCORE, {"label": "fail"}, "pass"),
        (SCORE, {"score": 3}, "score"),
        (PAIR, {"preferred": "tie"}, "preference"),
        (SCORE, {}, "score"),
        (LABEL, {}, "label"),
    ],
)
def test_the_scale_follows_from_what_people_gave(grader: dict[str, Any], people: dict[str, Any], mode: str) -> None:
    assert subject(grader, rows(**people)).mode == mode


@pytest.mark.parametrize(
    ("grader", "people", "told"),
    [
        (SCORE, {"score": 0}, "f.jsonl, line 4: score: 0 is outside the grader's range, 1 to 5."),
        (
            LABEL,
            {"label": "god"},
            'line 4: label: "god" does not fit. Use one of the grader\'s: good, fair, bad, or pass',
        ),
        (SCORE, {"label": "good"}, 'line 4: label: "good" does not fit. Use one of the grader\'s: pass, fail.'),
        (SCORE, {"preferred": "a"}, "score_model gives no labels"),
        (LABEL, {"preferred": "a"}, "Say which of them mean a, b and tie: --pair-labels"),
    ],
)
def test_what_does_not_fit_the_grader_is_told_with_its_line(
    grader: dict[str, Any], people: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidData) as error:
        subject(grader, rows(**people))
    assert told in str(error.value)


def test_labels_of_pairs_may_be_named() -> None:
    labels = {**PAIR, "labels": ["first", "second", "same"], "passing_labels": ["first"]}
    pairs = subject(labels, rows(preferred="a"), pair_labels=["first", "second", "same"])
    assert pairs.pair_labels == {"first": "a", "second": "b", "same": "tie"}
    with pytest.raises(InvalidData, match='"third" is not one of'):
        subject(labels, rows(preferred="a"), pair_labels=["first", "third"])


def test_a_verdict_is_the_label_the_side_or_whether_it_passes() -> None:
    def verdict(grader: dict[str, Any], said: Any, **people: Any) -> str | None:
        result = fairmark.grade(grader, "x", judge=fairmark.FakeJudge(said))
        return subject(grader, rows(**people)).answer(result).verdict

    assert verdict(LABEL, "fair", label="good") == "fair"
    assert verdict(PAIR, "B", preferred="a") == "b"
    assert verdict(SCORE, 3, score=3) == "pass"
    assert verdict(SCORE, 2, score=3) == "fail"


def test_a_panel_that_splits_has_no_label_and_is_told() -> None:
    result = fairmark.grade({**LABEL, "panel": ["n"]}, "x", judge=fairmark.FakeJudge(["good", "bad"]))
    answer = subject(LABEL, rows(label="good")).answer(result)
    assert (answer.verdict, answer.split) == ("fail", True)


def test_what_could_not_be_graded_is_no_answer() -> None:
    result = fairmark.grade(SCORE, "x", judge=fairmark.FakeJudge(fairmark.FakeAnswer(fault="server_error")))
    answer = subject(SCORE, rows(score=3)).answer(result)
    assert answer.reward is None
    assert not answer.ok
    assert "500" in (answer.error or "")


def test_versions_differ_in_one_thing() -> None:
    labels = subject(LABEL, rows(label="good"))
    assert list(labels.variant("labels reversed").labels) == ["bad", "fair", "good"]  # type: ignore[attr-defined]
    assert labels.variant("guarded").guard is True  # type: ignore[attr-defined]
    assert labels.variant("") is labels.spec
    assert labels.fingerprint != subject({**LABEL, "model": "n"}, rows(label="good")).fingerprint
    assert labels.criteria == "Good?"
    assert subject(SCORE, rows(score=3)).best_verdict == '{"steps": [], "result": 5.0}'
