"""What an output item holds, as pages show it: briefly in a table, and never without end on a page of its own."""

import json
from typing import Any

import pytest

from fairmark import jsontext
from fairmark.store import Item
from fairmark.web.runs import outputs
from fairmark.web.runs.outputs import BRIEF, LONGEST_TEXT, Room, brief, outcome_of, said_in


def result(name: str, status: str = "graded", passed: bool = True, score: float = 1.0) -> dict[str, Any]:
    return {"name": name, "status": status, "passed": passed, "score": score, "error": None}


def shown(item: dict[str, Any], said: str = "", *results: dict[str, Any]) -> outputs.Brief:
    sample = {"output": [{"role": "assistant", "content": said}] if said else []}
    body = jsontext.encode({"datasource_item": item, "sample": sample, "results": list(results)})
    return brief(
        Item(id="i", idx=7, status="pass", body=body),
        [{"id": "first", "name": "first"}, {"id": "second", "name": "second"}],
    )


def test_a_row_in_a_table_has_its_fields_its_answer_and_a_score_for_each_criterion() -> None:
    row = shown({"q": "Who?", "n": {"a": [1]}}, " Tim. ", result("second", passed=False, score=0.25))
    assert (row.idx, row.status, row.sample) == (7, "pass", "Tim.")
    assert row.item == [("q", "Who?"), ("n", '{"a": [1]}')]
    assert row.scores[0] is None
    assert row.scores[1] == ("fail", 0.25, None, False)


def test_a_score_tells_that_its_judges_split() -> None:
    row = shown({}, "", {**result("first"), "spread": {"split": True}}, {**result("second"), "spread": None})
    assert [score is not None and score.split for score in row.scores] == [True, False]


def test_a_table_stays_small_whatever_is_in_its_rows() -> None:
    row = shown({f"field {number}": "x" * 10_000_0 for number in range(50)}, "y" * 100_000)
    assert sum(len(name) + len(words) for name, words in row.item) < 3 * BRIEF
    assert len(row.sample) <= BRIEF


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (result("a"), "pass"),
        (result("a", passed=False), "fail"),
        (result("a", "error", passed=False), "error"),
        (result("a", "skipped", passed=False), "skip"),
    ],
)
def test_an_error_is_no_failure_and_what_was_left_out_is_neither(given: dict[str, Any], outcome: str) -> None:
    assert outcome_of(given) == outcome


def test_a_model_that_only_called_tools_has_said_its_calls() -> None:
    calls = [{"function": {"name": "f"}}]
    assert json.loads(said_in({"output": [{"content": None, "tool_calls": calls}]})) == calls
    assert said_in({"output": []}) == ""
    assert said_in({"output": [{"content": "text"}]}) == "text"


def test_texts_take_of_the_room_until_there_is_none() -> None:
    room = Room(10)
    assert (room.text("abcdef"), room.is_cut) == ("abcdef", False)
    assert (room.text("ghijkl"), room.is_cut) == ("ghij", True)
    assert room.text("more") == ""


def test_one_text_may_not_take_all_the_room() -> None:
    room = Room()
    passage = room.passage("x" * (LONGEST_TEXT + 5))
    assert (len(passage.text), passage.missing, room.is_cut) == (LONGEST_TEXT, 5, True)


def test_a_text_that_is_json_is_shown_as_such_and_other_text_as_markdown() -> None:
    assert Room().passage('{"a": 1}').is_json
    for text in ("{not json", "**bold**", "[" * 5000):
        passage = Room().passage(text)
        assert not passage.is_json
    assert "<strong>bold</strong>" in str(Room().passage("**bold**").html)


def test_a_value_is_cut_inside_with_an_ellipsis_for_the_rest() -> None:
    assert Room(1000).fit({"a": [1, "x"], "b": None}) == {"a": [1, "x"], "b": None}
    room = Room(30)
    cut = room.fit({"a": "x" * 50, "b": "y"})
    assert cut["a"].endswith("…")
    assert (list(cut)[-1], room.is_cut) == ("…", True)
    assert len(Room(100).fit(list(range(1000)))) < 20


def test_a_judges_answer_is_taken_apart_into_steps_and_verdict() -> None:
    said = {"steps": [{"description": "d", "conclusion": "c"}], "result": 0.5, "more": 1}
    judge = Room().judge({"model": "m", "output": [{"content": json.dumps(said)}], "error": {"message": "late"}})
    assert (judge.model, judge.verdict, judge.more, judge.error) == ("m", 0.5, {"more": 1}, "late")
    assert [tuple(step) for step in judge.steps] == [("d", "c")]
    bare = Room().judge({"output": []})
    assert (bare.answer, bare.verdict, bare.steps) == (None, None, [])
