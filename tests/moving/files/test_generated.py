"""Every generated grader, in the sandbox, holds and does not hold where the tool that it comes from says so."""

from typing import Any

import pytest

import fairmark
from fairmark.moving.files import generated
from fairmark.moving.files.javascript import pattern_of

COORDINATES = {
    "type": "object",
    "required": ["latitude"],
    "properties": {"latitude": {"type": "number", "minimum": -90, "maximum": 90}},
}
# rule, what it compares with, numbers, answers for which it holds, answers for which it does not
CASES: list[tuple[str, Any, dict[str, int], list[str], list[str]]] = [
    ("contains", "world", {}, ["hello world"], ["hello World", ""]),
    ("icontains", "WoRlD", {}, ["Hello WORLD"], ["hello"]),
    ("contains-any", ["world", "universe"], {}, ["hello world"], ["hello"]),
    ("contains-any", [], {}, [], ["hello"]),
    ("contains-all", ["1,000", "in stock"], {}, ["1,000 in stock"], ["1,000", "in stock"]),
    ("icontains-any", ["WORLD"], {}, ["hello world"], ["hello"]),
    ("icontains-all", ["A", "B"], {}, ["ab"], ["a"]),
    ("starts-with", "Yes", {}, ["Yes, sir", "Yes"], ["yes", " Yes", "Oh Yes"]),
    ("regex", pattern_of(r"\d{4}$"), {}, ["in 2024"], ["2024\n", "no"]),
    ("levenshtein", "test", {"most": 5}, ["test", "tast", "testing!!"], ["completely different"]),
    ("levenshtein", "kitten", {"most": 3}, ["sitting"], ["sitting!"]),
    ("levenshtein", "", {"most": 1}, ["a", ""], ["😀", "ab"]),  # an emoji is two characters there
    ("levenshtein", "abc", {"most": 0}, ["abc"], ["abd"]),
    ("is-json", ..., {}, ['{"a": [1, null]}', '"text"', "1"], ["NaN", "{a: 1}", "", "{} {}", "Infinity"]),
    (
        "is-json with a schema",
        COORDINATES,
        {},
        ['{"latitude": 90}', '{"latitude": -1.5, "more": 1}'],
        ['{"latitude": 91}', '{"latitude": "1"}', "{}", "[]", "no json", '{"latitude": true}'],
    ),
    ("equals", {"key": 1}, {}, ['{"key": 1}', '{"key": 1.0}'], ['{"key": true}', '{"key": 1, "b": 2}', "key", "{}"]),
    ("equals", None, {}, ["null"], ["", "0"]),
    # openai/evals: a prefix, case-sensitive, nothing trimmed
    ("Match", "Paris", {}, ["Paris", "Paris is it"], ["paris", " Paris", "It is Paris"]),
    ("Match", ["A", "B"], {}, ["B."], ["C"]),
    ("Includes", ["x", "y"], {}, ["a y"], ["a Y", ""]),
    ("Includes, ignore_case", "YES", {}, ["oh yes"], ["no"]),
    ("FuzzyMatch", "The Cat", {}, ["cat", "A cat!", "the black cat"], ["dog", ""]),
    ("FuzzyMatch", "the cat sat", {}, ["cat sat", "Sat."], ["cats"]),
    ("FuzzyMatch", "a", {}, ["the", "", "!"], ["b"]),  # both are empty once articles are gone
]


@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(("rule", "expected", "numbers", "holds", "does_not"), CASES)
def test_a_rule_holds_where_its_tool_says_so(
    rule: str, expected: Any, numbers: dict[str, int], holds: list[str], does_not: list[str], inverse: bool
) -> None:
    grader = generated.grader("rule", rule, None if expected is ... else repr(expected), inverse, **numbers)
    graded = fairmark.grade_many(grader, [{"item": {}, "sample": answer} for answer in holds + does_not])
    assert [result.error for result in graded] == [None] * len(graded)
    rewards = [1.0] * len(holds) + [0.0] * len(does_not)
    assert [result.reward for result in graded] == [1 - reward if inverse else reward for reward in rewards]


def test_what_it_compares_with_may_stand_in_the_row() -> None:
    grader = generated.grader("rule", "starts-with", "item['expected']")
    assert fairmark.grade(grader, "Lima it is", {"expected": "Lima"}).reward == 1.0
    failed = fairmark.grade(grader, "Lima it is", {})
    assert failed.error is not None


def test_an_answer_that_is_not_there_is_an_error_and_no_zero() -> None:
    assert fairmark.grade(generated.grader("rule", "contains", "'a'"), None, {}).error is not None


def test_the_source_is_readable() -> None:
    assert generated.source("contains-any", "['a']", inverse=True) == (
        "# not-contains-any\n"
        "\n"
        "def grade(sample, item):\n"
        '    text = sample["output_text"]\n'
        "    expected = ['a']\n"
        "    holds = any(part in text for part in expected)\n"
        "    return float(not holds)\n"
    )


def test_every_rule_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(generated.RULES)
