"""Many graders as one file, from one registry to another."""

from typing import Any

import pytest

import fairmark
from fairmark.client import (
    DuplicateKey,
    LockedGrader,
)
from tests.client.graders import by_length
from tests.client.places import EXACT, OTHER, Place


def test_a_pack_brings_graders_to_another_registry(client: fairmark.Client, place: Place) -> None:
    client.graders.create(key="exact", grader=EXACT, name="Exact", description="As it stands.")
    client.graders.create.custom(key="editors")
    client.graders.lock(grader_key="editors", locked=True)
    pack = client.graders.export()
    other = fairmark.Client(project="another-one")
    assert other.graders.import_(pack=pack) == {"editors": "created", "exact": "created"}
    assert other.graders.import_(pack=pack) == {"editors": "unchanged", "exact": "unchanged"}
    assert other.graders.export() == pack


def test_a_pack_is_brought_in_whole_or_not_at_all(client: fairmark.Client) -> None:
    client.graders.create(key="exact", grader=EXACT)
    pack = {"graders": [{"key": "new", "grader": EXACT}, {"key": "exact", "grader": OTHER}]}
    with pytest.raises(DuplicateKey, match='"exact"'):
        client.graders.import_(pack=pack)
    assert [each.key for each in client.graders.list()] == ["exact"]
    assert client.graders.import_(pack=pack, update=True) == {"new": "created", "exact": "updated"}
    client.graders.lock(grader_key="exact", locked=True)
    with pytest.raises(LockedGrader):
        client.graders.import_(pack={"graders": [{"key": "exact", "grader": EXACT}]}, update=True)


@pytest.mark.parametrize(
    ("pack", "message"),
    [
        ({}, r"\$\.graders: missing"),
        (None, "pack: found null"),
        ({"graders": [{"key": "x", "grader": {"type": "owl"}}]}, r'\$\.graders\[0\]\.grader\.type: unknown type "owl"'),
        ({"graders": [{"key": "X", "grader": EXACT}]}, r'\$\.graders\[0\]\.key: found "X"'),
        (
            {"graders": [{"key": "x", "grader": {"type": "function", "source": "def grade(): ..."}}]},
            r"\$\.graders\[0\]\.grader\.source: structure: ",
        ),
        ({"graders": [{"key": "x", "grader": {"type": by_length}}]}, "the pack is not JSON"),
    ],
)
def test_what_is_wrong_with_a_pack_is_told_with_its_place(client: fairmark.Client, pack: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        client.graders.import_(pack=pack)
    assert client.graders.list() == []
