"""Criteria in human words: one sentence for every kind, and the fields that it needs of a row."""

from typing import Any

import pytest

from fairmark.graders import KINDS
from fairmark.parse import parse
from fairmark.web.evals.criteria import checks, needs


def sentence(grader: dict[str, Any]) -> str:
    return " ".join(f"‹{word.text}›" if word.is_code else word.text for word in checks(grader))


@pytest.mark.parametrize(
    ("grader", "words"),
    [
        (
            {"type": "string_check", "input": "{{a}}", "reference": "b", "operation": "ilike"},
            "‹{{a}}› contains, in large or small letters, ‹b›",
        ),
        ({"type": "string_check", "input": "{{a}}", "reference": "b", "operation": "ne"}, "‹{{a}}› is not ‹b›"),
        (
            {"type": "text_similarity", "input": "{{a}}", "reference": "b", "evaluation_metric": "bleu"},
            "‹{{a}}› is like ‹b› by ‹bleu›",
        ),
        ({"type": "score_model", "model": "m"}, "The judge ‹m› gives a number from 0 to 1"),
        ({"type": "score_model", "model": "m", "range": [1, 5]}, "The judge ‹m› gives a number from 1 to 5"),
        (
            {"type": "score_model", "model": "m", "panel": ["n", "o"]},
            "The panel of ‹m› , ‹n› and ‹o› gives a number from 0 to 1",
        ),
        (
            {"type": "label_model", "model": "m", "labels": ["a", "b", "c", "d"], "passing_labels": ["a", "b"]},
            "The judge ‹m› answers ‹a› or ‹b› and not ‹c› or ‹d›",
        ),
        (
            {"type": "binary_judge", "model": "m", "criteria": "be kind"},
            "The judge ‹m› finds that the reply meets: be kind",
        ),
        ({"type": "python", "source": "a\nb\n"}, "A Python function grades an answer in the sandbox, 2 lines long"),
        ({"type": "function", "source": "a"}, "A Python function grades a conversation in the sandbox, 1 line long"),
        ({"type": "endpoint", "url": "https://r"}, "The reward server at ‹https://r› gives a number"),
        ({"type": "multi", "calculate_output": "a + b"}, "‹a + b› of several graders' rewards"),
        ({"type": "registered", "key": "k"}, "What the registered grader says, which is called ‹k›"),
        ({"type": "gone_with_its_package"}, "Of a kind that is not known here"),
    ],
)
def test_a_grader_is_one_sentence(grader: dict[str, Any], words: str) -> None:
    assert sentence(grader) == words


def test_every_kind_has_something_to_say_even_when_its_json_is_broken() -> None:
    for kind in KINDS:
        assert len(sentence({"type": kind})) > 10


def test_the_fields_that_a_grader_needs_are_seen_through_templates_messages_and_children() -> None:
    check = {"type": "string_check", "input": "{{item.a.deep}}", "reference": "{{item.b}}", "operation": "eq"}
    judge = {"type": "score_model", "model": "m", "input": [{"role": "user", "content": "{{item.c}} {{sample.x}}"}]}
    both = parse({"type": "multi", "graders": {"x": check, "y": judge}, "calculate_output": "x + y"})
    assert list(needs(both)) == ["a", "b", "c"]
