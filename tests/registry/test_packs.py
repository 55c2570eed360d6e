"""Grader packs: the file's shape."""

import json
from typing import Any

import pytest

from fairmark.errors import InvalidGrader
from fairmark.registry.packs import MOST, make_pack, read_pack
from fairmark.store import Grader, NewGrader
from tests.test_references import EXACT

KEPT = Grader(
    1, "grader_1", "default", "exact", "Exact", "why", 7, True, 1_700_000_000, 1_700_000_001, EXACT, {"v": "1"}
)


def test_a_pack_has_what_makes_a_grader_and_nothing_of_where_it_was_kept() -> None:
    assert make_pack([KEPT]) == {
        "object": "grader.pack",
        "graders": [{"key": "exact", "name": "Exact", "description": "why", "locked": True, "grader": EXACT}],
    }


def test_what_was_made_is_read_again() -> None:
    pack = json.loads(json.dumps(make_pack([KEPT])))
    assert read_pack(pack) == [NewGrader("exact", EXACT, "Exact", "why", True)]


def test_key_and_grader_are_enough() -> None:
    assert read_pack({"graders": [{"key": "exact", "grader": EXACT}]}) == [NewGrader("exact", EXACT, "exact")]
    assert read_pack({"graders": []}) == []


def test_a_pack_may_be_as_long_as_is_said_and_no_longer() -> None:
    entries = [{"key": f"key-{number}", "grader": EXACT} for number in range(1_001)]
    assert len(read_pack({"graders": entries[:1_000]})) == MOST == 1_000
    with pytest.raises(InvalidGrader, match="found a list of 1001"):
        read_pack({"graders": entries})


@pytest.mark.parametrize(
    ("pack", "problems"),
    [
        ({}, {"$.graders": "missing. A pack is "}),
        ({"graders": {}}, {"$.graders": "found an object. A pack is "}),
        ({"graders": [{}] * (MOST + 1)}, {"$.graders": "found a list of 1001. A pack is "}),
        ({"graders": [5]}, {"$.graders[0]": "found a number (5). It takes an object with key and grader."}),
        (
            {"graders": [{}]},
            {
                "$.graders[0].key": "missing. It takes a string.",
                "$.graders[0].grader": "missing. It takes an object.",
            },
        ),
        (
            {
                "graders": [
                    {"key": "a", "grader": EXACT},
                    {"key": 5, "grader": "{}", "name": 1, "description": [], "locked": 1},
                ]
            },
            {
                "$.graders[1].key": "found a number (5). It takes a string.",
                "$.graders[1].grader": 'found a string ("{}"). It takes an object.',
                "$.graders[1].name": "found a number (1). It takes a string.",
                "$.graders[1].description": "found a list of 0. It takes a string.",
                "$.graders[1].locked": "found a number (1). It takes true or false.",
            },
        ),
        (
            {"graders": [{"key": "a", "grader": EXACT}, {"key": "a", "grader": EXACT}]},
            {"$.graders[1].key": '"a" stands in this pack twice.'},
        ),
    ],
)
def test_a_wrong_shape_is_told_with_every_place(pack: dict[str, Any], problems: dict[str, str]) -> None:
    with pytest.raises(InvalidGrader) as refused:
        read_pack(pack)
    assert [each.path for each in refused.value.problems] == list(problems)
    for found, message in zip(refused.value.problems, problems.values(), strict=True):
        assert found.message.startswith(message)
