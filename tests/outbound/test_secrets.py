"""Secrets in what people read."""

import pytest

from fairmark.outbound.secrets import hidden

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize("key", ["EMPTY", "none", "ollama", "m", "not-needed", "fifteen-letters"])
def test_what_is_too_short_to_guard_anything_is_left_alone(key: str) -> None:
    assert hidden(f"model {key}: wrong key {key}.", [key]) == f"model {key}: wrong key {key}."


def test_a_secret_is_hidden_wherever_it_stands() -> None:
    assert hidden(f"{KEY} is not {KEY}!", [KEY, ""]) == "*** is not ***!"
    assert hidden("sixteen-letters!", ["sixteen-letters!"]) == "***"


def test_a_secret_that_begins_with_another_leaves_no_end_behind() -> None:
    assert hidden(f"{KEY}-other and {KEY}", [KEY, f"{KEY}-other"]) == "*** and ***"
