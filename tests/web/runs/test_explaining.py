"""Why a criterion found what it found: worked out again from the grader and the row."""

from typing import Any

import pytest

from fairmark.parse import parse
from fairmark.row import make_row
from fairmark.web.runs.explaining import ComparedPiece, ComparedTexts, explain, verdict
from fairmark.web.runs.outputs import Room

MULTI = {
    "type": "multi",
    "name": "all",
    "calculate_output": "max(a, 1e5 * b) - e5",
    "graders": {
        "a": {"type": "string_check", "name": "a", "input": "x", "reference": "x", "operation": "eq"},
        "b": {"type": "python", "name": "b", "source": "def grade(sample, item):\n    return 1 / 0\n"},
        "e5": {"type": "string_check", "name": "e5", "input": "x", "reference": "y", "operation": "eq"},
    },
}


def compared(operation: str, text: str, reference: str) -> ComparedTexts:
    spec = parse(
        {
            "type": "string_check",
            "name": "check",
            "input": "{{ sample.output_text }}",
            "reference": "{{ item.answer }}",
            "operation": operation,
        }
    )
    explained = explain(Room(), spec, make_row({"answer": reference}, text), {"error": None, "sub_rewards": {}})
    assert explained.compared is not None
    return explained.compared


@pytest.mark.parametrize(
    ("operation", "text", "reference", "hint"),
    [
        ("eq", "Paris", "Paris", ""),
        ("eq", "Paris\n", "Paris", "Only blanks or line breaks around them differ."),
        ("eq", "paris", "Paris", "Only large and small letters differ."),
        ("eq", "It is Paris.", "Paris", "The reference stands inside the input: like or ilike would hold."),
        ("eq", "", "Paris", "The input is empty."),
        ("eq", "Rome", "Paris", ""),
        ("like", "it is paris", "Paris", "Only large and small letters differ: ilike would hold."),
        ("like", "Paris.", " Paris", "It would hold without the blanks around the reference."),
        ("ilike", "Paris", "Paris, France", "It is the other way round: the input stands inside the reference."),
        ("ne", "Paris", "Paris", ""),
    ],
)
def test_what_is_nearly_right_is_told(operation: str, text: str, reference: str, hint: str) -> None:
    assert compared(operation, text, reference).hint == hint


def test_what_differs_is_marked_and_the_pieces_are_the_texts_again() -> None:
    shown = compared("eq", "The capital is Rome", "The capital is Paris")
    assert shown.input == [ComparedPiece("The capital is"), ComparedPiece(" Rome", "only")]
    assert shown.reference == [ComparedPiece("The capital is"), ComparedPiece(" Paris", "only")]
    assert (shown.input_template, shown.is_equal) == ("{{ sample.output_text }}", False)


def test_what_was_looked_for_is_marked_where_it_is() -> None:
    shown = compared("ilike", "It is PARIS (of course)", "paris")
    assert shown.input == [ComparedPiece("It is "), ComparedPiece("PARIS", "match"), ComparedPiece(" (of course)")]


def test_letters_that_grow_when_folded_have_no_mark_in_the_wrong_place() -> None:
    assert compared("ilike", "GROSSE STRASSE", "straße").input == [ComparedPiece("GROSSE STRASSE")]


def test_texts_that_share_nothing_have_no_marks() -> None:
    assert compared("eq", "Rome", "Paris").input == [ComparedPiece("Rome")]


def test_a_field_that_is_missing_is_told_in_place_of_the_texts() -> None:
    spec = parse({"type": "string_check", "name": "c", "input": "{{ item.a }}", "reference": "x", "operation": "eq"})
    explained = explain(Room(), spec, make_row({"b": 1}, ""), {"error": "…", "sub_rewards": {}})
    assert explained.compared is None
    assert 'no field "a"' in explained.not_filled


@pytest.mark.parametrize(
    ("grader", "reward", "passed", "words"),
    [
        ({"type": "string_check", "input": "", "reference": "", "operation": "eq"}, 1.0, True, "it holds"),
        ({"type": "string_check", "input": "", "reference": "", "operation": "eq"}, 0.0, False, "it does not hold"),
        (
            {
                "type": "text_similarity",
                "input": "",
                "reference": "",
                "evaluation_metric": "bleu",
                "pass_threshold": 0.8,
            },
            0.25,
            False,
            "too little: passes from 0.8",
        ),
        ({"type": "python", "source": "def grade(sample, item): ..."}, 0.5, True, "passes from 0.5"),
    ],
)
def test_the_threshold_is_told_in_words(grader: dict[str, Any], reward: float, passed: bool, words: str) -> None:
    assert verdict(parse({"name": "x", **grader}), reward, passed) == words


def test_a_formula_is_shown_with_numbers_in_it() -> None:
    result = {"error": None, "sub_rewards": {"a": 1.0, "b": 0.25, "e5": 0.0}}
    explained = explain(Room(), parse(MULTI), make_row({}, ""), result)
    assert explained.formula_filled == "max(1, 1e5 * 0.25) - 0"
    assert [(part.name, part.reward, part.words) for part in explained.parts] == [
        ("a", 1.0, "it holds"),
        ("b", 0.25, "too little: passes from 0.5"),
        ("e5", 0.0, "it does not hold"),
    ]


def test_each_part_that_failed_has_its_own_error_and_no_reward() -> None:
    error = 'b: Traceback:\n  File "grader.py", line 2, in grade\nZeroDivisionError; e5: no such thing'
    result = {"error": error, "sub_rewards": {"a": 1.0, "b": 0.0, "e5": 0.0}}
    a, b, e5 = explain(Room(), parse(MULTI), make_row({}, ""), result).parts
    assert (a.error, a.reward) == ("", 1.0)
    assert b.error.startswith("Traceback")
    assert b.error.endswith("ZeroDivisionError")
    assert (e5.error, e5.reward) == ("no such thing", None)
    assert [(line.number, line.is_wrong) for line in b.explained.source] == [(1, False), (2, True)]


def test_an_error_that_names_no_line_of_the_source_shows_none() -> None:
    spec = parse({"type": "python", "name": "x", "source": "def grade(sample, item):\n    return 1\n"})
    for error in ("it took too long", 'File "grader.py", line 99, in grade'):
        assert explain(Room(), spec, make_row({}, ""), {"error": error, "sub_rewards": {}}).source == ()
