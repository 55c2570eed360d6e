"""What reward servers answer, read with care: one row's nonsense is its own."""

import math
from typing import Any

import pytest

from fairmark.endpoints.answers import LONGEST_TEXT, decode, read_outcome
from fairmark.endpoints.base import EndpointScore
from fairmark.errors import EndpointFailed, NotGraded


def hide(text: str) -> str:
    return text.replace("secret", "***")


def read(response: Any) -> Any:
    return read_outcome(hide, response, 0.5)


def test_a_reward_comes_with_its_reason_and_its_share_of_the_time() -> None:
    assert read({"reward": 2}) == EndpointScore(2.0, None, 0.5)
    assert read({"reward": -0.5, "metadata": {"reason": "because"}}) == EndpointScore(-0.5, "because", 0.5)
    assert read({"reward": 1, "metadata": {"feedback": "so"}}).reason == "so"
    assert read({"reward": 1, "metadata": {"reason": "", "feedback": 5}}).reason is None
    assert read({"reward": 1, "metadata": "odd"}) == EndpointScore(1.0, None, 0.5)
    assert len(read({"reward": 1, "metadata": {"reason": "x" * 100_000}}).reason) <= LONGEST_TEXT


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (True, "true"),
        ("1", 'a string ("1")'),
        (None, "null"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (10**400, "a number"),
        ([1], "a list of 1"),
        ("secret", '"***"'),
    ],
)
def test_what_is_no_finite_number_is_no_reward(reward: Any, told: str) -> None:
    outcome = read({"reward": reward})
    assert isinstance(outcome, EndpointFailed)
    assert str(outcome).startswith("the endpoint's reward: found ")
    assert told.lower() in str(outcome).lower()


def test_no_reward_and_no_object_are_told_apart() -> None:
    assert "found nothing." in str(read({}))
    assert "is a number (0.5), not an object with a reward" in str(read(0.5))


def test_the_servers_own_word_about_a_row_is_taken_and_keeps_no_secret() -> None:
    failed = read({"reward": 1, "metadata": {"status": "error", "error": "secret broke"}})
    assert isinstance(failed, EndpointFailed)
    assert str(failed) == "the endpoint could not score this: *** broke"
    left_out = read({"reward": 1, "metadata": {"status": "skipped", "skipped": "too long"}})
    assert isinstance(left_out, NotGraded)
    assert str(left_out) == "the endpoint left this out on purpose: too long"


def test_pythons_nan_spoils_one_row_and_not_the_answer() -> None:
    assert [math.isnan(value) for value in decode(b"[NaN, 1.5]")] == [True, False]
    for nonsense in (b"", b"<html>", b"[" * 100_000):
        with pytest.raises(ValueError, match=r"^not JSON: "):
            decode(nonsense)
