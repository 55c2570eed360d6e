"""Whether a grader is fit to be a reward."""

from typing import Any

import pytest

from fairmark.errors import InvalidData, InvalidGrader
from fairmark.judges.fake import FakeJudge
from fairmark.parse import parse
from fairmark.trainers.check import RewardFinding, check_reward, distribution, groups, reference_of, sameness, step
from tests.trainers.test_rivals import KINDER, longest
from tests.trainers.test_trl import EXACT as EXACT_JSON

EXACT = parse(EXACT_JSON)
ROWS = [
    {"item": {"question": f"the capital number {n}?", "answer": f"city {n}"}, "sample": f"city {n if right else 'x'}"}
    for n in range(10)
    for right in (True, False)
]


def python(body: str) -> Any:
    return parse({"type": "python", "name": "code", "source": f"def grade(sample, item):\n    {body}\n"})


def verdicts(spec: Any, rows: Any = ROWS, **options: Any) -> dict[str, bool | None]:
    return {finding.question: finding.ok for finding in check_reward(spec, rows, **options)}


def test_a_good_reward_is_found_fit() -> None:
    assert verdicts(EXACT) == {
        "rewards": True, "signal": True, "failures": True, "step": True, "sameness": True, "gaming: empty": True,
        "gaming: long": True, "gaming: keywords": True, "gaming: copied reference": True,
    }  # fmt: skip


def test_a_misspelt_field_is_something_to_look_at() -> None:
    first, *others = check_reward(parse({**EXACT_JSON, "refrence": "x"}), ROWS)
    assert (first.question, first.ok) == ("grader", False)
    assert first.words == "$.refrence: unknown field, kept but not used. Did you mean reference?"
    assert all(finding.ok for finding in others)


def test_a_part_that_only_logs_is_told_and_stops_nobody() -> None:
    parts = {"exact": EXACT_JSON, "logged": {**EXACT_JSON, "name": "logged", "operation": "like"}}
    multi = parse({"type": "multi", "name": "both", "graders": parts, "calculate_output": "exact"})
    first, *others = check_reward(multi, ROWS)
    assert (first.question, first.ok) == ("grader", None)
    assert first.words == "$.graders.logged: calculate_output does not use this grader."
    assert all(finding.ok for finding in others)


@pytest.mark.parametrize(
    ("body", "question"),
    [
        ("return len(sample['output_text'])", "gaming: long"),
        ("return 1.0 - len(sample['output_text']) / 100", "gaming: empty"),
        ("return float(item['answer'] in sample['output_text'])", "gaming: keywords"),
        ("return float('x' in sample['output_text'])", "gaming: copied reference"),
        ("import random\n    return random.random()", "sameness"),
        ("return 0.5", "rewards"),
        ("return float(len(item['question']))", "signal"),
        ("return 1 / (len(sample['output_text']) - 6)", "failures"),
    ],
)
def test_what_is_wrong_with_a_reward_is_named(body: str, question: str) -> None:
    rows = [{"item": {"question": "a capital?", "answer": "city"}, "sample": f"city{'x' * n}"} for n in range(4)]
    if question in ("signal", "gaming: empty"):
        rows = ROWS
    if question == "gaming: keywords":
        rows = [{"item": {"answer": "city"}, "sample": text} for text in ("city", "town")]
    assert verdicts(python(body), rows)[question] is False


def test_a_trick_is_not_fit_because_it_cannot_be_graded_nor_because_all_answers_got_the_same() -> None:
    short = python("assert 0 < len(sample['output_text']) < 9\n    return len(sample['output_text']) / 9")
    rows = [{"item": {"answer": "city"}, "sample": text} for text in ("city", "town x")]
    found = {finding.question: finding for finding in check_reward(short, rows)}
    assert (found["gaming: empty"].ok, found["gaming: long"].ok) == (False, False)
    assert found["gaming: empty"].words == "2 of 2 were not graded. AssertionError"
    always = verdicts(python("return 1.0"), rows)
    assert (always["rewards"], always["gaming: empty"], always["gaming: keywords"]) == (False, None, None)


def test_one_failure_is_too_many_only_where_it_counts_as_0() -> None:
    rows = [{"item": {"answer": "x"}, "sample": "x"}] * 30 + [{"item": {}, "sample": "x"}]
    assert verdicts(EXACT, rows, trainer="trl")["failures"] is True
    assert verdicts(EXACT, rows, trainer="skyrl")["failures"] is False
    assert verdicts(EXACT, rows)["failures"] is False


def test_the_reference_is_looked_for_or_named() -> None:
    row = {"item": {"question": "?", "truth": 4, "label": "5"}}
    assert reference_of(row, None) == "5"
    assert reference_of(row, "truth") == "4"
    assert reference_of({"item": {"question": "?"}}, None) is None
    rows = [{"item": {"question": "?"}, "sample": "a"}, {"item": {"question": "?"}, "sample": "bb"}]
    assert verdicts(python("return len(sample['output_text'])"), rows)["gaming: copied reference"] is None


def test_a_reference_that_only_some_items_have_is_copied_there() -> None:
    rows = [*ROWS, {"item": {"question": "?"}, "sample": "city x"}]
    right = python("return float(sample['output_text'] == item.get('answer'))")
    found = {finding.question: finding for finding in check_reward(right, rows)}
    assert found["gaming: copied reference"].words == (
        "1 on average; the answers got 0.5, and it should be at least that"
    )


def test_a_field_that_no_item_has_is_no_reference() -> None:
    with pytest.raises(InvalidData, match=r'--reference: no item has .* in "anwser".*: question, answer'):
        check_reward(EXACT, ROWS, reference="anwser")


@pytest.mark.parametrize(
    ("sample", "why"), [(5, "expected a string or an object, found a number"), (None, "the row has no sample")]
)
def test_a_row_whose_answer_cannot_be_read_fails_alone(sample: Any, why: str) -> None:
    rows = [{"item": {"answer": "x"}, "sample": sample}, *ROWS]
    found = {finding.question: finding for finding in check_reward(EXACT, rows)}
    assert found["failures"].words.startswith("1 of 21 rows were not graded")
    assert why in found["failures"].words
    assert found["rewards"].words.startswith("mean 0.5")


def test_a_step_is_as_slow_as_its_rows() -> None:
    class Free:
        cost = None

    results: Any = [Free()] * 10
    assert step(results, 5.0, 100) == RewardFinding(
        "step", True, "50 s for 100 rows", {"seconds": 50.0, "dollars": None, "batch": 100}
    )
    assert step(results, 5.0, 1000).ok is False


def test_rows_without_answers_are_refused() -> None:
    with pytest.raises(InvalidData, match=r"no row has a sample.*--sample names a model.*has: answer, completion\."):
        check_reward(EXACT, [{"item": {"answer": "x", "completion": "y"}, "sample": None}])


def test_what_cannot_be_said_is_not_said() -> None:
    assert groups([{"item": {"n": 1}}, {"item": {"n": 2}}], [1.0, 0.0]).ok is None
    assert sameness([None], [1.0]).ok is None
    assert distribution([]).ok is False


def test_a_grader_that_compares_answers_is_checked_on_those_to_the_same_item() -> None:
    rows = [
        {"item": {"q": q}, "sample": text} for q in "xy" for text in ("short", "a bit longer", "the longest of all")
    ]
    found = {each.question: each for each in check_reward(parse(KINDER), rows, "trl", judge=FakeJudge(longest))}
    assert found["rewards"].figures["mean"] == 0.5
    assert (found["signal"].figures, found["failures"].ok) == ({"groups": 2, "flat": 0}, True)
    assert (found["gaming: empty"].ok, found["gaming: long"].ok) == (True, False)  # it likes what is long
    with pytest.raises(InvalidGrader, match="here they come one by one"):
        check_reward(parse(KINDER), rows, "verl", judge=FakeJudge(longest))
