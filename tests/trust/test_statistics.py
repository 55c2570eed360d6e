"""The judge against people, on answers written by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from fairmark import parse
from fairmark.trust.labelled import collect
from fairmark.trust.places import Places
from fairmark.trust.sheet import Sheet
from fairmark.trust.statistics import AgainstPeople, compare
from fairmark.trust.subject import Opinion, Subject

QUESTION = [{"role": "user", "content": "{{ sample.output_text }}"}]
SCORE = {"type": "score_model", "name": "s", "model": "m", "range": [1, 5], "input": QUESTION}
LABEL = {
    "type": "label_model", "name": "l", "model": "m", "input": QUESTION,
    "labels": ["good", "bad"], "passing_labels": ["good"],
}  # fmt: skip
PAIR = {**LABEL, "labels": ["a", "b", "tie"], "passing_labels": ["a"]}


def compared(
    grader: dict[str, Any], rows: list[dict[str, Any]], said: Sequence[tuple[float, str] | None]
) -> AgainstPeople:
    """`said`: the judge's answer to each line."""
    labelled = collect(enumerate(rows, 1))
    answers: dict[str, Opinion] = {}
    sheet = Sheet(Subject.of(parse.parse(grader), labelled), labelled, Places(), answers)
    for row, answer in enumerate(said):
        key = sheet.ask("base", "", row).key
        answers[key] = Opinion(None, error="broken") if answer is None else Opinion(*answer)
    return compare(sheet)


def figures(done: AgainstPeople) -> dict[str, float | None]:
    return {statistic.name: statistic.value for statistic in done.statistics}


def test_labels() -> None:
    humans, judges = "1110010110", "1100011110"
    names = {"1": "good", "0": "bad"}
    rows = [{"item": {"id": index}, "sample": "s", "label": names[value]} for index, value in enumerate(humans)]
    done = compared(LABEL, rows, [(float(value), names[value]) for value in judges])
    told = figures(done)
    assert done.main.name == "Cohen's kappa"
    assert done.main.value == pytest.approx(0.583333, abs=1e-6)
    assert done.main.interval is not None
    assert (told["agreement"], told["sensitivity"], told["specificity"]) == pytest.approx((0.8, 5 / 6, 0.75))
    assert told["precision"] == pytest.approx(5 / 6)
    assert done.confusion["good", "bad"] == 1


def test_what_the_judge_could_not_grade_is_counted_apart() -> None:
    rows = [{"item": {"id": index}, "sample": "s", "label": "good"} for index in range(3)]
    tied = [{**rows[2], "label": "bad", "rater": "kim"}]
    done = compared(LABEL, [*rows, *tied], [(1.0, "good"), None, (1.0, "good")])
    assert (done.labelled, done.ungraded, done.tied) == (1, 1, 1)
    assert done.main.value is None
    assert done.main.why == "judge and people gave one and the same verdict only"
    assert figures(done)["agreement"] == 1.0
    assert figures(done)["specificity"] is None


def test_scores_in_steps_are_weighed_by_their_distance() -> None:
    humans, judges = (1, 2, 3, 4, 5, 3, 2, 4), (1, 2, 3, 5, 5, 2, 2, 3)
    rows = [{"item": {"id": index}, "sample": "s", "score": value} for index, value in enumerate(humans)]
    done = compared(SCORE, rows, [(float(value), "pass") for value in judges])
    assert done.main.name == "weighted kappa"
    assert done.main.value == pytest.approx(0.888889, abs=1e-6)
    assert done.main.interval is None  # fewer than ten rows
    told = figures(done)
    assert told["Spearman's rho"] == pytest.approx(0.924693, abs=1e-6)
    assert told["Kendall's tau-b"] == pytest.approx(0.875761, abs=1e-6)
    assert told["bias"] == pytest.approx(-1 / 8 / 4)
    assert told["mean absolute error"] == pytest.approx(3 / 8 / 4)
    assert done.smoothness is not None
    fine = compared(SCORE, rows, [(value + 0.5 if value < 5 else 5.0, "pass") for value in judges])
    assert fine.main.name == "Spearman's rho"


def test_answers_to_one_question_are_held_against_each_other() -> None:
    rows = [{"item": {"q": index // 3}, "sample": str(index), "score": 1 + index % 3 * 2} for index in range(36)]
    said = [(float(1 + index % 3), "pass") for index in range(36)]
    said[:3] = [(3.0, "pass"), (3.0, "pass"), (1.0, "pass")]  # one group: a tie and two wrong
    done = compared(SCORE, rows, said)
    told = figures(done)
    assert done.main.name == "2 x pair accuracy - 1"
    assert told["pair accuracy"] == pytest.approx(33.5 / 36)
    assert done.main.value == pytest.approx(2 * 33.5 / 36 - 1)
    assert told["chain rate"] == pytest.approx(11 / 12)
    assert told["judge ties"] == pytest.approx(1 / 36)


def test_preferences() -> None:
    people, judge = "abababab", ["a", "b", "b", "b", "tie", "b", "a", "a"]
    rows = [
        {"item": {"id": index}, "samples": {"a": "x", "b": "y"}, "preferred": value}
        for index, value in enumerate(people)
    ]
    neutral = {"item": {"id": 99}, "samples": {"a": "x", "b": "y"}, "preferred": "tie"}
    done = compared(PAIR, [*rows, neutral], [(0.0, value) for value in [*judge, "a"]])
    told = figures(done)
    assert told["pair accuracy"] == pytest.approx((5 + 0.5) / 8)
    assert told["judge ties"] == pytest.approx(1 / 8)
    assert told["agreement"] == pytest.approx(5 / 9)


def test_people_among_themselves_are_the_ceiling() -> None:
    rows = [
        {"item": {"id": index}, "sample": "s", "label": label, "rater": rater}
        for index in range(4)
        for rater, label in (("kim", "good" if index % 2 else "bad"), ("lee", "good"))
    ]
    done = compared(LABEL, rows, [(1.0, "good")] * 4)
    assert done.ceiling is not None
    assert done.ceiling.value == pytest.approx(-0.1666667, abs=1e-6)
    alone = compared(LABEL, rows[::2], [(1.0, "good")] * 4)
    assert alone.ceiling is None
