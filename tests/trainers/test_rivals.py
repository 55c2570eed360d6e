"""Answers to one prompt that are held against each other: who meets whom, and what comes of it in each trainer."""

import asyncio
import pickle
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.judges.fake import FakeAnswer, FakeJudge, Scripted
from fairmark.parse import parse
from fairmark.trainers import areal, slime, swift, trl, verifiers
from fairmark.trainers.rivals import FIELD, by_prompt, grouped, meetings, most_rivals, with_rivals

KINDER = {"type": "preference", "name": "kinder", "model": "m", "criteria": "Is kinder."}
FIXED = {**KINDER, "a": "{{ sample.output_text }}", "b": "{{ item.baseline }}"}
LENGTH = {"type": "string_check", "input": "{{ sample.output_text }}", "reference": "!", "operation": "like"}
BOTH = {
    "type": "multi",
    "name": "both",
    "graders": {"kinder": KINDER, "shouts": LENGTH},
    "calculate_output": "kinder - shouts",
}


def longest(messages: Sequence[Any]) -> Scripted:
    """Prefers the longer answer, wherever it stands; of two that have `broken` in them it cannot say."""
    first, _, second = messages[-1]["content"].partition("Second answer:\n")
    first, second = first.rpartition("First answer:\n")[2].strip(), second.removesuffix("Which is better?").strip()
    if "broken" in first + second:
        return FakeAnswer(fault="server_error")
    return "tie" if len(first) == len(second) else "first" if len(first) > len(second) else "second"


def test_who_compares_answers_is_known_from_the_spec() -> None:
    assert [most_rivals(parse(grader)) for grader in (KINDER, {**KINDER, "most_rivals": 8}, BOTH)] == [4, 8, 4]
    assert [most_rivals(parse(grader)) for grader in (FIXED, LENGTH)] == [0, 0]


@pytest.mark.parametrize(("count", "most", "each"), [(1, 4, 0), (2, 4, 1), (5, 4, 4), (6, 4, 4), (64, 4, 4), (7, 2, 2)])
def test_each_answer_meets_all_others_or_so_many_and_is_met_by_them(count: int, most: int, each: int) -> None:
    met = meetings({index: f"answer {index}" for index in range(count)}, most)
    assert sorted(met) == list(range(count))
    for index, rivals in met.items():
        assert len(set(rivals)) == len(rivals) == each
        assert index not in rivals
        assert all(index in met[rival] for rival in rivals)


def test_who_meets_whom_depends_on_what_is_said_and_not_on_where() -> None:
    texts = [f"answer {index}" for index in range(12)]
    there = meetings(dict(enumerate(texts)), 4)
    back = meetings(dict(enumerate(reversed(texts))), 4)
    for index, rivals in there.items():
        assert sorted(11 - rival for rival in back[11 - index]) == sorted(rivals)


def test_rows_are_together_that_have_the_same_prompt_or_without_one_the_same_item() -> None:
    rows = [{"item": {"q": q}} for q in "xyx"]
    chat = [{"role": "user", "content": "?"}]
    assert by_prompt([chat, "other", list(chat)], rows) == [[0, 2], [1]]
    assert by_prompt([None] * 3, rows) == [[0, 2], [1]]
    assert grouped("abca") == [[0, 3], [1], [2]]


def test_an_answer_that_is_none_is_nobodys_rival() -> None:
    rows = [{"item": {"q": 1}, "sample": sample} for sample in ("x", {"completion": None}, None, "y")]
    made = with_rivals(rows, [range(4)], 4)
    assert [row["item"].get(FIELD) for row in made] == [["y"], None, None, ["x"]]


def test_the_rewards_of_a_group_are_the_shares_that_its_answers_win() -> None:
    judge = FakeJudge(longest)
    reward = trl.reward(KINDER, judge=judge)
    assert reward(["p"] * 3 + ["q"] * 2, ["a", "bbb", "cc", "xx", "x"]) == [0.0, 1.0, 0.5, 1.0, 0.0]
    # 3 pairs and 1 pair, in both orders: the two answers of a pair share their questions.
    assert len(judge.asked) == 8


def test_a_judge_that_looks_at_the_place_alone_tells_no_answers_apart() -> None:
    assert trl.reward(KINDER, judge=FakeJudge("first"))(["p"] * 3, ["a", "b", "c"]) == [0.5, 0.5, 0.5]
    once = trl.reward({**KINDER, "swap": False}, judge=FakeJudge("first"))
    assert once(["p"] * 2, ["a", "b"]) == [1.0, 1.0]  # each stands first where it is asked for


def test_a_big_group_asks_four_times_as_many_questions_as_it_has_answers() -> None:
    judge = FakeJudge(longest)
    rewards = trl.reward(KINDER, judge=judge)(["p"] * 32, ["x" * (index + 1) for index in range(32)])
    assert len(judge.asked) == 32 * 4  # 2 pairs an answer, each in both orders
    assert (rewards[0], rewards[31]) == (0.0, 1.0)
    assert sum(reward or 0.0 for reward in rewards) == pytest.approx(16.0)


def test_equal_answers_are_ties_of_which_nobody_is_asked() -> None:
    judge = FakeJudge(longest)
    assert trl.reward(KINDER, judge=judge)(["p"] * 3, ["same", "same", "longer"]) == [0.25, 0.25, 1.0]
    assert len(judge.asked) == 2  # the pair of texts, in both orders
    assert trl.reward(KINDER, judge=judge)(["p"] * 2, ["same", "same"]) == [0.5, 0.5]
    assert len(judge.asked) == 2


def test_what_cannot_be_compared_is_masked_and_never_0() -> None:
    rewards = trl.reward(KINDER, judge=FakeJudge(longest))
    assert rewards(["p", "p", "q"], ["a", "bb", "alone"]) == [0.0, 1.0, None]
    assert rewards(["p"] * 3, ["a", None, "bb"]) == [0.0, None, 1.0]
    # "broken" fails against both others; those have half of their answers, which is not enough.
    assert rewards(["p"] * 3, ["a", "bb", "broken"]) == [None, None, None]
    # Of four others three can be asked about: that is more than half.
    assert rewards(["p"] * 5, ["a", "bb", "ccc", "dddd", "broken"]) == [
        0.0,
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
        1.0,
        None,
    ]


def test_a_preference_may_be_a_part_of_the_reward() -> None:
    reward = trl.reward(BOTH, judge=FakeJudge(longest))
    assert reward(["p"] * 2, ["a", "bb!"]) == [0.0, 0.0]
    logged: dict[str, Any] = {}
    reward(["p"] * 2, ["a", "bb"], log_extra=logged.__setitem__)
    assert logged["both/kinder"] == [0.0, 1.0]
    shared = trl.rewards([KINDER, LENGTH], judge=FakeJudge(longest))
    assert [function(["p"] * 2, ["a!", "b"]) for function in shared] == [[1.0, 0.0], [1.0, 0.0]]


def test_swift_and_slime_and_verifiers_hand_groups_over_too() -> None:
    made = swift.reward(KINDER, judge=FakeJudge(longest))()
    chats = [[{"role": "user", "content": "?"}, {"role": "assistant", "content": text}] for text in ("a", "bb")]
    assert made(["a", "bb"], messages=chats) == [0.0, 1.0]
    samples = [
        SimpleNamespace(prompt="?", response=text, label="", metadata={}, remove_sample=False)
        for text in ("a", "bb", "ccc", "dddd", "broken")
    ]
    group = slime.group(KINDER, judge=FakeJudge(longest))
    thirds = [0.0, pytest.approx(1 / 3), pytest.approx(2 / 3), 1.0]
    assert asyncio.run(group(None, samples)) == [*thirds, pytest.approx(0.5)]
    assert [sample.remove_sample for sample in samples] == [False] * 4 + [True]
    states: list[dict[str, Any]] = [{} for _ in samples]
    texts = [sample.response for sample in samples]
    rubric = verifiers.group(KINDER, judge=FakeJudge(longest))
    assert asyncio.run(rubric(["?"] * 5, texts, ["x"] * 5, states)) == [*thirds, pytest.approx(0.5)]
    assert [state["fairmark_failed"] for state in states] == [False] * 4 + [True]


def test_trainers_that_hand_answers_over_one_by_one_refuse_before_the_run() -> None:
    for make in (areal.reward, slime.reward, verifiers.reward):
        with pytest.raises(InvalidGrader, match=r"\$\.b: missing\. Without a and b a preference compares"):
            make(KINDER, judge=FakeJudge("first"))
        make(FIXED, judge=FakeJudge("first"))


def test_it_pickles_with_its_groups() -> None:
    reward = pickle.loads(pickle.dumps(trl.reward(KINDER, warm=False, judge=Places())))  # noqa: S301  # our own
    assert reward(["p"] * 2, ["a", "bb"]) == [0.5, 0.5]


class Places(FakeJudge):
    """Says first, and pickles."""

    def __init__(self) -> None:
        super().__init__("first")

    def __reduce__(self) -> tuple[Any, ...]:
        return Places, ()
