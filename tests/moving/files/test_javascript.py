"""Values and patterns of JavaScript: what Python says exactly, and what it refuses to."""

import json
import re
import subprocess
from typing import Any

import pytest

from fairmark.moving.files.javascript import NotTheSame, halves, pattern_of, text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        (True, "true"),
        (7, "7"),
        (1.0, "1"),
        (0.25, "0.25"),
        (-1.5, "-1.5"),
        (1e-9, None),  # 1e-9 there, 1e-09 here
        (2**60, None),  # rounded there
        (None, None),
        ({}, None),
    ],
)
def test_a_value_is_written_as_javascript_does_or_not_at_all(value: Any, text: str | None) -> None:
    assert text_of(value) == text


# A pattern, texts in which JavaScript finds it, and texts in which it does not.
PATTERNS = [
    (r"\d{4}", ["in 2024"], ["in 24", "٢٠٢٤"]),  # digits are those of ASCII
    (r"^a$", ["a"], ["a\n", "b"]),  # no line end before the end
    (r"a.c", ["abc", "a\u00a0c"], ["a\nc", "a\rc", "a\u2028c"]),
    (r"^.{2}$", ["ab", "😀"], ["a"]),  # one emoji is two characters
    (r"\bcat\b", ["a cat!", "écat"], ["cats"]),  # letters are those of ASCII
    (r"\s", ["\ufeff", "\u00a0"], ["a", "\x1c"]),
    (r"[^]", ["\n"], [""]),
    (r"x{,3}", ["x{,3}"], ["xxx"]),  # no quantifier there
    (r"(?<year>\d+)-", ["2024-"], ["-"]),
    (r"\/\-\u00e9\x41", ["/-éA"], ["/-eA"]),
    (r"[\w-]+\]", ["a-b]"], ["]"]),
    (r"^(?:yes|no)$", ["yes"], ["yes no"]),
    (r"[😀]", ["😀"], ["a"]),
    (r"#a b", ["#a b"], ["#ab"]),
]


@pytest.mark.parametrize(("source", "found", "not_found"), PATTERNS)
def test_a_pattern_finds_the_same_texts(source: str, found: list[str], not_found: list[str]) -> None:
    pattern = pattern_of(source)
    assert [bool(re.search(pattern, halves(text))) for text in found + not_found] == [True] * len(found) + [
        False
    ] * len(not_found)


def test_node_agrees_with_the_table() -> None:
    script = (
        "const table = JSON.parse(require('fs').readFileSync(0));"
        "const ask = ([source, ...both]) => both.map(texts => texts.map(text => new RegExp(source).test(text)));"
        "console.log(JSON.stringify(table.map(ask)))"
    )
    asked = subprocess.run(
        ["node", "-e", script], input=json.dumps(PATTERNS), capture_output=True, text=True, check=True
    )
    assert json.loads(asked.stdout) == [[[True] * len(one), [False] * len(other)] for _, one, other in PATTERNS]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (r"(a)\1", r"\1 does not mean the same in Python"),
        (r"(?i)a", "(?i) is no group of both languages"),
        (r"(?P<x>a)", "(?P< is no group of both languages"),
        (r"(?<=a+)b", "Python cannot compile it"),
        (r"\p{L}", r"\p does not mean the same in Python"),
        (r"\Astart", r"\A does not mean the same in Python"),
        (r"a++", "repeats a repetition"),
        (r"*a", "there is nothing to repeat before *"),
        (r"(?<=a)*", "there is nothing to repeat before *"),
        (r"[\w-z]", "a range begins with a class"),
        (r"[a-\d]", "a range ends in a class"),
        (r"(", "Python cannot compile it"),
        (r"[a", "a bracket is not closed"),
        ("a" * 10_001, "it has more than 10,000 characters"),
        ("(" * 5000 + ")" * 5000, "Python cannot compile it"),
    ],
)
def test_what_has_no_twin_is_refused(source: str, why: str) -> None:
    with pytest.raises(NotTheSame) as caught:
        pattern_of(source)
    assert why in str(caught.value)
