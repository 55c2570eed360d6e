"""Scores pushed in for graders."""

import asyncio
import time

import pytest
from sqlalchemy import func, select

from fairmark.store import Grader, PushedScore, Store, UnknownCursor
from fairmark.store.base import tables
from tests.store.conftest import Place


async def editors(store: Store, key: str = "editors") -> Grader:
    return await store.graders.create("default", key, {"type": "custom"})


async def values(store: Store, grader: Grader) -> list[tuple[str, float, str | None]]:
    return [(each.sample_id, each.value, each.reasoning) for each in (await store.grader_scores.list(grader)).data]


async def test_scores_come_back_in_the_order_in_which_samples_first_had_one(store: Store) -> None:
    grader = await editors(store)
    assert await store.grader_scores.push(grader, [PushedScore("b", 0.1, "why"), PushedScore("a", -2.5)])
    assert await store.grader_scores.push(grader, [PushedScore("c", 1e300)])
    assert await values(store, grader) == [("b", 0.1, "why"), ("a", -2.5, None), ("c", 1e300, None)]
    (first, *_) = (await store.grader_scores.list(grader)).data
    assert abs(first.created_at - time.time()) < 60


async def test_a_later_score_of_a_sample_takes_the_place_of_the_earlier(store: Store) -> None:
    grader = await editors(store)
    await store.grader_scores.push(grader, [PushedScore("a", 1.0, "why"), PushedScore("b", 2.0)])
    await store.grader_scores.push(grader, [PushedScore("a", 3.0)])
    assert await values(store, grader) == [("a", 3.0, None), ("b", 2.0, None)]


async def test_of_two_scores_of_a_sample_in_one_push_the_last_counts(store: Store) -> None:
    grader = await editors(store)
    await store.grader_scores.push(grader, [PushedScore("a", 1.0), PushedScore("b", 2.0), PushedScore("a", 3.0)])
    assert await values(store, grader) == [("a", 3.0, None), ("b", 2.0, None)]


async def test_any_text_may_be_an_id(store: Store) -> None:
    grader = await editors(store)
    ids = ["\x00", "\ud800", "ü", "A", "a", " ", "x" * 512]
    await store.grader_scores.push(grader, [PushedScore(each, 1.0, "\x00\ud800") for each in ids])
    assert [each[0] for each in await values(store, grader)] == ids
    assert (await store.grader_scores.list(grader, after="\ud800")).data[0].sample_id == "ü"


async def test_graders_do_not_share_scores(store: Store) -> None:
    one, two = await editors(store), await editors(store, "others")
    await store.grader_scores.push(one, [PushedScore("a", 1.0)])
    await store.grader_scores.push(two, [PushedScore("a", 2.0)])
    assert await values(store, one) == [("a", 1.0, None)]
    assert await values(store, two) == [("a", 2.0, None)]


async def test_scores_are_listed_in_pages(store: Store) -> None:
    grader = await editors(store)
    await store.grader_scores.push(grader, [PushedScore(each, 0.0) for each in "abcd"])
    page = await store.grader_scores.list(grader, 2, after="a")
    assert ([each.sample_id for each in page.data], page.has_more) == (["b", "c"], True)
    page = await store.grader_scores.list(grader, 2, after="b", order="desc")
    assert ([each.sample_id for each in page.data], page.has_more) == (["a"], False)
    with pytest.raises(UnknownCursor):
        await store.grader_scores.list(grader, after="lost")


async def test_nothing_is_pushed_to_a_grader_that_is_gone(store: Store) -> None:
    grader = await editors(store)
    await store.graders.delete("default", "editors")
    assert not await store.grader_scores.push(grader, [PushedScore("a", 1.0)])
    assert not await store.grader_scores.push(grader, [])
    async with store._database.read() as connection:
        assert await connection.scalar(select(func.count()).select_from(tables.grader_scores)) == 0


async def test_many_who_push_at_once_lose_nothing_and_leave_nothing_behind(place: Place) -> None:
    stores = [await place.open(), await place.open(exclusive=False) if place.is_sqlite else await place.open()]
    grader = await editors(stores[0])
    ids = [f"sample {number}" for number in range(40)]
    await asyncio.gather(
        *(
            stores[number % 2].grader_scores.push(grader, [PushedScore(each, float(number)) for each in order])
            for number in range(8)
            for order in (ids, ids[::-1])
        )
    )
    found = (await stores[0].grader_scores.list(grader, 100)).data
    assert {each.sample_id for each in found} == set(ids)
    assert len({each.value for each in found}) == 1, "one push is all or nothing"
    *pushed, _ = await asyncio.gather(
        *(stores[number % 2].grader_scores.push(grader, [PushedScore("late", 1.0)]) for number in range(6)),
        stores[1].graders.delete("default", "editors"),
    )
    assert set(pushed) <= {True, False}
    async with stores[0]._database.read() as connection:
        assert await connection.scalar(select(func.count()).select_from(tables.grader_scores)) == 0
