"""Ids as people type them."""

import pytest

from fairmark.kept.ids import is_meant, short_id


def test_an_id_of_ours_is_shown_by_its_first_digits_and_another_whole() -> None:
    assert short_id("evalrun_0123456789abcdef") == "01234567"
    assert short_id("run-of-theirs") == "run-of-theirs"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("0123", True),
        ("evalrun_0123", True),
        ("evalrun_0123456789", True),
        ("012", False),
        ("1234", False),
        ("", False),
    ],
)
def test_four_digits_are_enough(text: str, meant: bool) -> None:
    assert is_meant(text, "evalrun_0123456789") is meant
