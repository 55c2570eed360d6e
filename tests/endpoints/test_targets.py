"""The address of a reward server and what is sent along: everything that is wrong is told at once."""

import pytest

from fairmark.endpoints.base import Target
from fairmark.endpoints.targets import read_target
from fairmark.errors import InvalidGrader


def test_what_is_right_is_a_target() -> None:
    read = read_target("https://rewards.example.com:8100/a", {"x-team": "a"}, 5)
    assert read == Target("https://rewards.example.com:8100/a", {"x-team": "a"}, 5)


def test_all_that_is_wrong_is_told_with_its_place() -> None:
    with pytest.raises(InvalidGrader) as refused:
        read_target("ftp://x", {"host": "a", "b c": 1}, 0)
    assert [problem.path for problem in refused.value.problems] == [
        "$.url",
        "$.headers.host",
        '$.headers["b c"]',
        "$.timeout_s",
    ]
