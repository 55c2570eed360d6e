"""preference: which of two answers is better, whichever stands first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fairmark
from fairmark.judges.cache import Cache

GRADER = {"type": "preference", "name": "p", "model": "m", "criteria": "Is kinder.", "question": "{{ item.q }}"}
ITEM = {"q": "How are you?", "a": "Fine, and you?", "b": "Go away."}


def which_has(word: str) -> fairmark.FakeJudge:
    """A judge that prefers the answer with a word in it, wherever it stands."""

    def script(messages: Sequence[Any]) -> str:
        first, _, second = messages[-1]["content"].partition("Second answer:")
        return "tie" if (word in first) == (word in second) else "first" if word in first else "second"

    return fairmark.FakeJudge(script)


@pytest.mark.parametrize(("word", "reward", "passed"), [("Fine", 1.0, True), ("Go", 0.0, False), ("xyz", 0.5, False)])
def test_the_reward_is_the_share_that_the_first_answer_wins(word: str, reward: float, passed: bool) -> None:
    judge = which_has(word)
    result = fairmark.grade(GRADER, item=ITEM, judge=judge)
    assert (result.reward, result.passed) == (reward, passed)
    assert len(judge.asked) == 2
    asked = [messages[-1]["content"] for messages in judge.asked]
    assert asked[0].index("Fine") < asked[0].index("Go away")
    assert asked[1].index("Fine") > asked[1].index("Go away")
    assert "How are you?" in asked[0]
    assert "Is kinder." in asked[0]


@pytest.mark.parametrize("said", ["first", "second"])
def test_a_judge_that_looks_at_the_place_alone_decides_nothing(said: str) -> None:
    result = fairmark.grade(GRADER, item=ITEM, judge=fairmark.FakeJudge(said))
    assert result.reward == 0.5
    assert [judgement.value["result"] for judgement in result.judgements] in (["a", "b"], ["b", "a"])
    spread = result.model_dump()["spread"]
    assert spread["agreement"] == 0.5


def test_one_order_alone_is_half_the_price() -> None:
    judge = fairmark.FakeJudge("first")
    assert fairmark.grade({**GRADER, "swap": False}, item=ITEM, judge=judge).reward == 1.0
    assert len(judge.asked) == 1


def test_answers_may_stand_anywhere() -> None:
    grader = {**GRADER, "a": "{{ sample.output_text }}", "b": "{{ item.baseline }}", "question": None}
    judge = which_has("Mine")
    assert fairmark.grade(grader, "Mine.", {"baseline": "Theirs."}, judge=judge).reward == 1.0
    failed = fairmark.grade(grader, "Mine.", {}, judge=judge)
    assert failed.status == "error"
    assert failed.errors["invalid_variable_error"] is True


def test_a_guard_fences_both_answers() -> None:
    judge = which_has("Fine")
    assert fairmark.grade({**GRADER, "guard": True}, item=ITEM, judge=judge).reward == 1.0
    assert judge.asked[0][0]["content"].startswith("Everything between <data-")
    assert "<data-" in judge.asked[0][-1]["content"]


def test_several_judges_share_the_preferences() -> None:
    judge = fairmark.FakeJudge(["first", "tie", "second", "second"])  # a, tie; exchanged: a, a
    assert fairmark.grade({**GRADER, "panel": ["n"]}, item=ITEM, judge=judge).reward == pytest.approx(3.5 / 4)


def test_the_same_two_answers_in_exchanged_roles_are_read_each_in_its_own_way(tmp_path: Path) -> None:
    """One question serves both rows, be it under way or in the cache: which answer stands first is what was said."""
    rows = [{"item": ITEM}, {"item": {**ITEM, "a": ITEM["b"], "b": ITEM["a"]}}]
    judge = which_has("Fine")
    judge._judge._cache = Cache(tmp_path / "cache.db", "on", 100)
    for _ in range(2):
        assert [result.reward for result in fairmark.grade_many(GRADER, rows, judge=judge)] == [1.0, 0.0]
    assert len(judge.asked) <= 4


def test_a_judge_has_to_say_the_place_and_not_the_name() -> None:
    """Nothing in the question is called a or b, so nobody could tell which place that would be."""
    assert fairmark.grade(GRADER, item=ITEM, judge=fairmark.FakeJudge("a")).status == "error"


def test_a_sample_is_held_against_each_of_its_rivals() -> None:
    judge = which_has("Fine")
    item = {"q": "How are you?", "rivals": ["Go away.", "Fine, you?", "Fine. Hm."]}
    result = fairmark.grade(GRADER, "Fine. Hm.", item, judge=judge)
    assert result.reward == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert result.spread is None
    assert len(judge.asked) == 4  # what says the same is a tie, and nobody is asked


@pytest.mark.parametrize(
    ("sample", "rivals", "told"),
    [
        ("x", [], "there is no other answer to compare with"),
        ("x", "text", 'item.rivals: found a string ("text"). It takes a list of texts'),
        ("x", ["y", 5], "It takes a list of texts"),
        ("x", ["y"] * 63, "found 63. It takes at most 62"),
        (None, ["y"], "there is no sample to compare"),
    ],
)
def test_rivals_that_are_none_are_an_error_and_no_defeat(sample: Any, rivals: Any, told: str) -> None:
    result = fairmark.grade(GRADER, sample, {"q": "?", "rivals": rivals}, judge=fairmark.FakeJudge("first"))
    assert (result.status, told in (result.error or "")) == ("error", True)


@pytest.mark.parametrize("most", [0, 1, 3, 64, 2.0, True, "4"])
def test_each_answer_meets_an_even_number_of_others(most: Any) -> None:
    (error,) = fairmark.validate({**GRADER, "most_rivals": most}).errors
    assert error.path == "$.most_rivals"
    assert "It takes an even number from 2 to 62." in error.message


def test_wrong_fields_are_told() -> None:
    checked = fairmark.validate({**GRADER, "criteria": " ", "swap": "yes", "logprobs": True})
    assert {error.path for error in checked.errors} == {"$.criteria", "$.swap", "$.logprobs"}


def test_a_check_holds_it_against_peoples_preferences() -> None:
    rows = [
        {
            "item": {"id": index, "q": "?"},
            "samples": {
                "a": f"{'Fine' if index % 3 else 'Bad'} {index}",
                "b": f"{'Bad' if index % 3 else 'Fine'} {index}",
            },
            "preferred": "a" if index % 3 else "b",
        }
        for index in range(60)
    ]
    check = fairmark.check_judge(GRADER, rows, judge=which_has("Fine"))
    assert check.grade == "trusted"
    states = {probe.name: probe.status for probe in check.probes}
    assert states["pair order"] == "asked"
    assert states["label order"] == "not applicable"
    one_order = fairmark.check_judge({**GRADER, "swap": False}, rows, judge=fairmark.FakeJudge("first"))
    assert "pair order" in one_order.alarms
