"""Groups in which all answers got the same reward."""

import logging

import pytest

from fairmark.trainers.signal import GROUPS_BEFORE_A_WORD, Signal, by_prompt


def test_answers_to_one_prompt_are_a_group() -> None:
    assert by_prompt(["a", "a", "b", "a"], [1.0, None, 0.5, 0.0]) == [[1.0, None], [0.5], [0.0]]


def test_most_groups_without_a_difference_are_told_once_with_their_share(caplog: pytest.LogCaptureFixture) -> None:
    signal = Signal("quality")
    with caplog.at_level(logging.WARNING):
        for _ in range(GROUPS_BEFORE_A_WORD):
            signal.note([[1.0, 1.0], [0.0, None], [None, None], [0.0, 1.0] if signal.groups % 4 == 0 else [0.0, 0.0]])
    (record,) = caplog.records
    assert record.message.startswith("quality: in ")
    assert 0.5 < signal.flat_share < 1


def test_groups_that_differ_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    signal = Signal("quality")
    with caplog.at_level(logging.WARNING):
        signal.note([[0.0, 1.0]] * 100)
    assert not caplog.records
    assert signal.flat_share == 0
