"""regex."""

import asyncio
import time
from typing import Any

import pytest

import fairmark
from fairmark import run
from fairmark.parse import parse
from fairmark.row import make_row

ENDLESS = "(a|aa)+$"
MANY_WAYS = "a" * 60 + "b"


def grader(pattern: str, **more: Any) -> dict[str, Any]:
    return {"type": "regex", "input": "{{ sample.output_text }}", "pattern": pattern, **more}


def problems(**fields: Any) -> list[str]:
    return [str(problem) for problem in fairmark.validate({**grader("a"), **fields}).errors]


@pytest.mark.parametrize(
    ("text", "pattern", "more", "reward"),
    [
        ("It is 42.", r"\d+", {}, 1.0),
        ("It is.", r"\d+", {}, 0.0),
        ("It is.", r"\d+", {"negate": True}, 1.0),
        ("It is 42.", r"\d+", {"match": "full"}, 0.0),
        ("42", r"\d+", {"match": "full"}, 1.0),
        ("42\n", r"\d+", {"match": "full"}, 0.0),
        ("PARIS", "paris", {}, 0.0),
        ("PARIS", "paris", {"flags": ["ignore_case"]}, 1.0),
        ("a\nb", "a.b", {}, 0.0),
        ("a\nb", "a.b", {"flags": ["dot_all"]}, 1.0),
        ("a\nb", "^b$", {"flags": ["multiline"]}, 1.0),
        ("ab", "a  b # blanks do not count", {"flags": ["verbose"]}, 1.0),
        ("ünïcödé", r"^\w+$", {}, 1.0),
        ("", "", {}, 1.0),  # the empty pattern is found everywhere
        ("x{2}", r"x\{2\}", {}, 1.0),
    ],
)
def test_the_reward_is_one_exactly_where_the_pattern_is_found(
    text: str, pattern: str, more: dict[str, Any], reward: float
) -> None:
    assert fairmark.grade(grader(pattern, **more), text).reward == reward


@pytest.mark.parametrize(
    ("text", "pattern", "more", "reward"),
    [
        ("Answer: B", r"Answer: (\w)", {}, 1.0),
        ("Answer: A", r"Answer: (\w)", {}, 0.0),
        ("no letter", r"Answer: (\w)", {}, 0.0),
        ("first A, then B", r"[A-D]\b", {"occurrence": "last"}, 1.0),
        ("first A, then B", r"[A-D]\b", {}, 0.0),
        ("A=B", r"(\w)=(\w)", {"group": 2}, 1.0),
        ("A=B", r"(\w)=(?P<right>\w)", {"group": "right"}, 1.0),
        ("A=B", r"(\w)=(\w)", {}, 0.0),  # the first group, where none is chosen
        ("B", r"(A)|B", {}, 0.0),  # the group took no part
        ("B", r"(A)|B", {"group": 0}, 1.0),
    ],
)
def test_what_is_captured_is_compared_with_the_reference(
    text: str, pattern: str, more: dict[str, Any], reward: float
) -> None:
    result = fairmark.grade(grader(pattern, reference="{{ item.letter }}", **more), text, {"letter": "B"})
    assert (result.reward, result.error) == (reward, None)


def test_a_row_may_bring_the_whole_pattern_but_what_is_filled_in_stands_for_itself() -> None:
    whole = grader("{{ item.pattern }}")
    assert fairmark.grade(whole, "abc", {"pattern": "a.c"}).reward == 1.0
    part = grader("^{{ item.price }}$")
    assert fairmark.grade(part, "1.50", {"price": "1.50"}).reward == 1.0
    assert fairmark.grade(part, "1x50", {"price": "1.50"}).reward == 0.0


def test_a_pattern_or_field_that_a_row_lacks_is_an_error_and_no_wrong_answer() -> None:
    bad = fairmark.grade(grader("{{ item.pattern }}"), "abc", {"pattern": "("})
    assert (bad.status, bad.error) == (
        "error",
        'pattern: not a regular expression: missing ) at character 2. It is: "(".',
    )
    missing = fairmark.grade(grader("{{ item.pattern }}"), "abc", {"other": "("})
    assert missing.errors["invalid_variable_error"] is True
    no_group = fairmark.grade(grader("{{ item.p }}", reference="x", group=2), "x", {"p": "(x)"})
    assert no_group.error == "group: the row's pattern has no group 2. It has: 1, and 0 for the whole."


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"pattern": "("}, "$.pattern: not a regular expression: missing ) at character 2."),
        ({"pattern": "x" * 4_001}, "$.pattern: it has 4,001 characters. It may have 4,000."),
        (
            {"pattern": "((a{1000}){1000}){1000}"},
            "$.pattern: its counted repetitions stand for more than 10,000 characters. Use smaller counts.",
        ),
        (
            {"flags": ["i"]},
            '$.flags[0]: unknown flag "i". It takes a list of: ignore_case, multiline, dot_all, verbose.',
        ),
        ({"group": 1}, "$.group: it says what is compared with a reference, and there is none."),
        ({"group": 3, "reference": "x"}, "$.group: the pattern has no group 3. It has none; 0 is the whole."),
        ({"negate": True, "reference": "x"}, "$.negate: it does not go with a reference. Leave one of them out."),
        ({"match": "start"}, '$.match: unknown match "start". Use one of: search, full.'),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_graded(fields: dict[str, Any], told: str) -> None:
    assert problems(**fields) == [told]


@pytest.mark.parametrize(
    "pattern", [r"\d{4}-\d{2}", "[{]2000000000}", r"\{1000000\}{3}", "(?:ab){1,5000}", ".{0,99999}"]
)
def test_counts_that_are_harmless_are_taken(pattern: str) -> None:
    assert problems(pattern=pattern) == []


def test_a_pattern_that_would_take_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairmark.graders.regex.MATCH_S", 0.05)
    result = fairmark.grade(grader(ENDLESS), MANY_WAYS)
    assert (result.status, result.errors["unresponsive_reward_error"]) == ("error", True)
    assert result.error is not None
    assert result.error.startswith("the pattern took longer than 0.05 s on a text of 61 characters.")


def test_beside_others_it_is_given_up_within_its_turn_and_graded_elsewhere() -> None:
    rows = [make_row({}, text) for text in ("aaa", MANY_WAYS, "aa", "b")]

    async def graded() -> tuple[list[fairmark.Result], float]:
        held = 0.0
        done = asyncio.ensure_future(run.grade_rows(parse(grader(ENDLESS)), rows, run.shared_context()))
        while not done.done():
            began = time.thread_time()
            await asyncio.sleep(0.01)
            held = max(held, time.thread_time() - began)
        return await done, held

    results, held = asyncio.run(graded())
    assert [result.reward_or(None) for result in results] == [1.0, None, 1.0, 0.0]
    assert results[1].errors["unresponsive_reward_error"] is True
    assert not any(row.takes_longer for row in rows)
    assert held < 1.0  # the two seconds that it may take were spent elsewhere


@pytest.mark.thorough
def test_inside_a_combination_the_whole_row_goes_elsewhere() -> None:
    combined = {"type": "multi", "graders": {"a": grader("^a"), "b": grader(ENDLESS)}, "calculate_output": "a + b"}
    rows = [make_row({}, "aaa"), make_row({}, MANY_WAYS)]
    good, bad = asyncio.run(run.grade_rows(parse(combined), rows, run.shared_context()))
    assert (good.reward, good.status) == (2.0, "graded")
    assert (bad.sub_rewards, bad.status) == ({"a": 1.0, "b": 0.0}, "error")
    assert "took longer than 2 s" in str(bad.error)
