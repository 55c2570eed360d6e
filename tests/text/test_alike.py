"""Reasons that say the same."""

import pytest

from fairmark.text.alike import LONGEST, alike


@pytest.mark.parametrize(
    ("reason", "same"),
    [
        ("Traceback:\n  line 4, in grade\nZeroDivisionError: by zero", "ZeroDivisionError: by zero"),
        ("ModuleNotFoundError: No module named 'rapidfuzz'", "ModuleNotFoundError: No module named 'rapidfuzz'"),
        ('{{ item.a }}: no field "a". It has: b.', '{{ item.a }}: no field "a". It has: b.'),
        ('the judge answered "I like it a lot", not a number', 'the judge answered "…", not a number'),
        ("gpt-4.1-mini: HTTP 503 after 4 attempts in 12.75 s", "gpt-4.1-mini: HTTP 503 after # attempts in # s"),
        ("ValueError: no city in Way 101", "ValueError: no city in Way #"),
        ("the server answered 404: no model 123", "the server answered 404: no model #"),
        ("<function f at 0x7f12ab>: 123456 rows", "<function f at #>: # rows"),
        ("try http://127.0.0.1:9911/v1 2 times", "try http://127.0.0.1:9911/v1 # times"),
        ("it isn't there and won't come", "it isn't there and won't come"),
        ('found ""', 'found ""'),
        ("", ""),
    ],
)  # fmt: skip
def test_numbers_and_quotations_are_left_out_and_names_stay(reason: str, same: str) -> None:
    assert alike(reason) == same


def test_it_is_never_long() -> None:
    assert len(alike("word " * 10_000)) <= LONGEST
