"""Registries as stores: projects that do not see one another, lists of any length, many calls at once."""

import asyncio
from typing import Any

import pytest

import fairmark
from fairmark.client import (
    Score,
)
from tests.client.places import EXACT, OTHER, Place


def test_a_list_is_whole_however_long_it_is(client: fairmark.Client) -> None:
    keys = [f"grader-{number}" for number in range(205)]
    client.graders.import_(pack={"graders": [{"key": key, "grader": {"type": "custom"}} for key in keys]})
    assert [each.key for each in client.graders.list()] == keys


def test_of_two_who_create_one_key_at_once_one_is_told(place: Place) -> None:
    async def both() -> list[Any]:
        clients = [place.open_async() for _ in range(2)]
        made = (client.graders.create(key="exact", grader=EXACT, name=f"{n}") for n, client in enumerate(clients))
        return await asyncio.gather(*made, return_exceptions=True)

    client = place.open()
    client.graders.list()  # the tables are made
    found = asyncio.run(both())
    assert sorted(type(each).__name__ for each in found) == ["DuplicateKey", "RegisteredGrader"]
    (winner,) = (each for each in found if not isinstance(each, Exception))
    assert [each.name for each in client.graders.list()] == [winner.name]


def test_of_two_who_change_one_version_at_once_one_is_told(place: Place) -> None:
    async def both() -> list[Any]:
        clients = [place.open_async() for _ in range(2)]
        graders = [{**EXACT, "reference": f"{n}"} for n in range(2)]
        changes = (
            client.graders.update(grader_key="exact", grader=grader, version=1)
            for client, grader in zip(clients, graders, strict=True)
        )
        return await asyncio.gather(*changes, return_exceptions=True)

    client = place.open()
    client.graders.create(key="exact", grader=EXACT)
    found = asyncio.run(both())
    assert sorted(type(each).__name__ for each in found) == ["RegisteredGrader", "VersionConflict"]
    assert [each.version for each in client.graders.versions(grader_key="exact")] == [2, 1]


def test_many_calls_at_once_on_a_new_registry_all_succeed(new_place: Place) -> None:
    async def all_of_them() -> list[Any]:
        client = new_place.open_async()
        return await asyncio.gather(*(client.graders.create.custom(key=f"k{number}") for number in range(8)))

    assert len(asyncio.run(all_of_them())) == 8


def test_all_scores_are_given_back_however_many_there_are(client: fairmark.Client) -> None:
    client.graders.create.custom(key="editors")
    assert client.graders.push_scores(grader_key="editors", scores=[Score(f"{n}", n) for n in range(1205)]) == 1205
    assert [each.value for each in client.graders.scores(grader_key="editors")] == list(range(1205))


@pytest.mark.usefixtures("home")
def test_local_projects_do_not_see_one_another() -> None:
    client, other = fairmark.Client(), fairmark.Client(project="other")
    client.graders.create(key="exact", grader=EXACT)
    assert other.graders.list() == []
    other.graders.create(key="exact", grader=OTHER)
    found = client.graders.get(grader_key="exact", project="other")
    assert found is not None
    assert (found.project.key, found.grader) == ("other", OTHER)
    with pytest.raises(ValueError, match=r'^project: found "my team"\. It takes 1 to 64 letters'):
        client.graders.list(project="my team")
