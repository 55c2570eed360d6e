"""What answers to probes add up to, on answers written by hand."""

from typing import Any

import pytest

from fairmark import parse
from fairmark.trust import measures
from fairmark.trust.asking import Ask
from fairmark.trust.labelled import collect
from fairmark.trust.places import Places
from fairmark.trust.probes import NotApplicable
from fairmark.trust.sheet import Sheet
from fairmark.trust.subject import Opinion, Subject

SCORE = {
    "type": "score_model", "name": "s", "model": "gpt-6", "range": [0, 10],
    "input": [{"role": "user", "content": "{{ sample.output_text }}"}],
}  # fmt: skip
LABEL = {**SCORE, "type": "label_model", "labels": ["x", "y", "z"], "passing_labels": ["x"]}


def sheet_of(rows: list[dict[str, Any]], grader: dict[str, Any] = SCORE) -> Sheet:
    labelled = collect(enumerate(rows, 1))
    grader = {name: value for name, value in grader.items() if name != "range" or grader["type"] == "score_model"}
    return Sheet(Subject.of(parse.parse(grader), labelled), labelled, Places(), {})


def answer(sheet: Sheet, ask: Ask, reward: float, verdict: str = "pass") -> None:
    sheet.asked.setdefault(ask.probe, []).append(ask)
    sheet.answers[ask.key] = Opinion(reward, verdict)  # type: ignore[index]  # a mapping to read, for everybody else


def scored(n: int = 4) -> Sheet:
    return sheet_of([{"item": {"id": index}, "sample": f"answer {index}", "score": index} for index in range(n)])


def test_a_shift_is_a_share_of_the_range() -> None:
    sheet = scored()
    for row, (before, after) in enumerate([(1, 2), (2, 4), (3, 6), (4, 4)]):
        answer(sheet, sheet.ask("base", "", row), before)
        answer(sheet, sheet.with_answer("length", "padded", row, f"answer {row} and more words"), after)
    measured = measures.MEASURES["length"](sheet)
    assert measured.effect == pytest.approx(0.15)
    assert measured.rows == 4
    assert measured.details["per_doubling"] == pytest.approx(0.6 / 4 / 1.3219280948873624)


def test_flips_are_counted_by_pair_and_the_spread_is_pooled() -> None:
    sheet = scored(2)
    for row, (verdicts, rewards) in enumerate([(("pass", "fail", "pass"), (6, 4, 5)), (("fail",) * 3, (1, 1, 1))]):
        for repeat, (verdict, reward) in enumerate(zip(verdicts, rewards, strict=True)):
            probe = "repeat" if repeat else "base"
            answer(sheet, sheet.ask(probe, "", row, repeat=repeat), reward, verdict)
    measured = measures.repeat(sheet)
    assert measured.effect == 0.25
    assert measured.details["sd"] == pytest.approx((0.02 / 4) ** 0.5)
    assert measured.p is None


def test_moving_towards_the_end_of_a_reversed_list_is_following_the_front() -> None:
    sheet = sheet_of([{"item": {"id": row}, "sample": "s", "label": "x"} for row in range(6)], LABEL)
    for row, (base, turned) in enumerate([("x", "z"), ("x", "y"), ("y", "z"), ("x", "x"), ("z", "x"), ("y", "y")]):
        answer(sheet, sheet.ask("base", "", row), 0, base)
        answer(sheet, sheet.ask("label order", "reversed", row, variant="labels reversed"), 0, turned)
    measured = measures.label_order(sheet)
    assert (measured.details["first"], measured.details["second"]) == (3, 1)
    assert measured.effect == pytest.approx(2 / 6)
    assert measured.p == pytest.approx(0.625)  # 2 × (1 + 4) / 16


def test_an_exchanged_pair_that_keeps_its_side_favours_that_side() -> None:
    pairs = {**LABEL, "labels": ["A", "B", "tie"], "passing_labels": ["A"]}
    rows = [{"item": {"id": row}, "samples": {"a": "x", "b": "y"}, "preferred": "a"} for row in range(5)]
    sheet = sheet_of(rows, pairs)
    said = [("a", "a"), ("a", "b"), ("b", "b"), ("a", "tie"), ("tie", "tie")]
    for row, (base, exchanged) in enumerate(said):
        item, _ = sheet.parts(row)
        answer(sheet, sheet.ask("base", "", row), 0, base)
        answer(sheet, sheet.ask("pair order", "exchanged", row, item=Places().exchanged(item)), 0, exchanged)
    measured = measures.pair_order(sheet)
    assert (measured.details["first"], measured.details["second"]) == (2, 1)
    assert measured.details["consistency"] == pytest.approx(0.4)


def test_lifts_by_chance_are_taken_off_those_by_injections() -> None:
    sheet = scored(3)
    # Two rows are bad; the third passes as it is, and cannot be lifted.
    for row, base in enumerate([1, 2, 8]):
        answer(sheet, sheet.ask("base", "", row), base)
        for case, reward in (("order", 9), ("system turn", base + 2.5), ("forged end", base + 2)):
            answer(sheet, sheet.with_answer("injection", case, row, case), reward)
        answer(sheet, sheet.ask("injection", "repeat", row, repeat=1), 6 if row == 0 else base)
        answer(sheet, sheet.ask("injection", "repeat", row, repeat=2), base)
    measured = measures.injection(sheet)
    assert measured.rows == 2
    assert measured.details["lifted"] == pytest.approx(2 / 3)
    assert measured.details["lifted_by_repeats"] == pytest.approx(1 / 4)
    assert measured.effect == pytest.approx(2 / 3 - 1 / 4)
    assert measured.details["rows_lifted"] == 1
    assert measured.details["cases"]["order"] == 1.0


def test_nonsense_that_passes_and_references_that_fail_are_rates() -> None:
    sheet = scored(2)
    for row in range(2):
        answer(sheet, sheet.with_answer("sanity", "empty", row, ""), 9)
        answer(sheet, sheet.with_answer("sanity", "noise", row, "zz"), 1)
        answer(sheet, sheet.with_answer("reference", "", row, f"ref {row}"), 4 + row)
    sane = measures.sanity(sheet)
    assert sane.effect == 0.5
    assert sane.details["cases"] == {"empty": {"passed": 2, "asked": 2}, "noise": {"passed": 0, "asked": 2}}
    assert "most of them: empty (2 of 2)" in sane.words
    assert measures.reference(sheet).effect == 0.5


def test_scores_that_rise_as_an_answer_shrinks_are_counted_by_step() -> None:
    sheet = scored(2)
    for row, scores in enumerate([(8, 5, 6), (8, 5, 5)]):
        for case, reward in zip(("two thirds", "one third", "one tenth"), scores, strict=True):
            answer(sheet, sheet.with_answer("cut", case, row, f"{case} {row}"), reward)
    measured = measures.cut(sheet)
    assert measured.details == {"rises": 1, "falls": 2, "steps": 4}
    assert measured.effect == 0.25


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("gpt-4.1-mini", "openai"),
        ("openai/o3-mini", "openai"),
        ("ft:gpt-4o:acme::1", "openai"),
        ("claude-5-opus", "anthropic"),
        ("local/smollm2", "smollm"),
        ("Qwen2.5-7B", "qwen"),
        ("acme-judge-1", "acme"),
    ],
)
def test_families_are_known_by_their_names(model: str, maker: str) -> None:
    assert measures.family(model) == maker


def test_own_family_compares_what_is_beyond_the_humans() -> None:
    rows = [
        {"item": {"id": row}, "sample": "s", "score": 5, "model": "gpt-5" if row % 2 else "claude-5"}
        for row in range(20)
    ]
    sheet = sheet_of(rows)
    for row in range(20):
        answer(sheet, sheet.ask("base", "", row), 7 if row % 2 else 5 + row % 4 / 10)
    assert measures.own_family(sheet).effect == pytest.approx(0.19)
    with pytest.raises(NotApplicable):
        measures.own_family(sheet_of(rows[:10]))


def test_length_counts_only_beyond_what_people_say() -> None:
    rows = [
        {"item": {"id": row}, "sample": "w " * 2 ** (row % 5 + 1), "score": row % 5 + (row % 3) / 2}
        for row in range(40)
    ]
    sheet = sheet_of(rows)
    for row in range(40):
        # Longer answers are better, and the judge gives half a point more for each doubling.
        answer(sheet, sheet.ask("base", "", row), rows[row]["score"] + 0.5 * (row % 5) + row % 7 / 50)
    measured = measures.length_watched(sheet)
    assert measured.details["per_doubling"] == pytest.approx(0.05, abs=0.003)
    assert measured.p is not None
    assert measured.p < 1e-6
    exact = sheet_of(rows)
    for row in range(40):
        answer(exact, exact.ask("base", "", row), rows[row]["score"])
    with pytest.raises(NotApplicable, match="never differ"):
        measures.length_watched(exact)
