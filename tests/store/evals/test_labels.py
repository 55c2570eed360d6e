"""What people say of rows, in both databases."""

import time
from typing import Any

import pytest
from sqlalchemy import func, select

from fairmark.errors import LabelTaken
from fairmark.store import NewLabel, Run, Store, UnknownCursor
from fairmark.store.base import tables
from tests.store.conftest import new_run


def label(idx: int = 0, value: Any = "pass", rater: str = "kim", at: float = 1000.0, **more: Any) -> NewLabel:
    return NewLabel(idx=idx, rater=rater, kind=more.pop("kind", "label"), value=value, labelled_at=at, **more)


async def put(store: Store, run: Run, *new: NewLabel) -> list[str]:
    became = await store.labels.put(run, new)
    assert became is not None
    return [each.became for each in became]


async def values(store: Store, run: Run) -> list[tuple[int, str, Any]]:
    return [(each.idx, each.rater, each.value) for each in await store.labels.of_run(run)]


async def test_a_label_comes_back_with_all_that_was_said(store: Store) -> None:
    run = await new_run(store)
    said = label(
        7, 0.5, "\x00ü", kind="score", note="\ud800", seconds=2.5, picked="doubtful", chance=0.25, weight=4.0,
        criterion="exact-1", turn=1, id="label_1",
    )  # fmt: skip
    await put(store, run, said)
    (found,) = await store.labels.of_run(run)
    assert {name: getattr(found, name) for name in ("idx", "rater", "kind", "value", "note", "seconds", "picked")} == {
        "idx": 7, "rater": "\x00ü", "kind": "score", "value": 0.5, "note": "\ud800", "seconds": 2.5,
        "picked": "doubtful",
    }  # fmt: skip
    assert (found.chance, found.weight, found.criterion, found.turn) == (0.25, 4.0, "exact-1", 1)
    assert (found.run_id, found.eval_id, found.item_id[-8:]) == (run.id, run.eval_id, "00000007")
    assert abs(found.created_at - time.time()) < 60


async def test_a_later_label_of_the_same_rater_and_row_takes_the_place_of_the_earlier(store: Store) -> None:
    run = await new_run(store)
    await put(store, run, label(0, "pass"), label(1, "pass"))
    await put(store, run, label(0, "fail", at=2000.0))
    assert sorted(await values(store, run)) == [(0, "kim", "fail"), (1, "kim", "pass")]


async def test_an_earlier_label_that_comes_late_changes_nothing(store: Store) -> None:
    run = await new_run(store)
    await put(store, run, label(0, "fail", at=2000.0))
    assert await put(store, run, label(0, "pass", at=1000.0)) == ["older"]
    assert await put(store, run, label(1, "a", at=5.0), label(1, "b", at=4.0)) == ["kept", "older"]
    assert await values(store, run) == [(0, "kim", "fail"), (1, "kim", "a")]


async def test_raters_criteria_turns_and_other_runs_have_labels_of_their_own(store: Store) -> None:
    run, other = await new_run(store), await new_run(store)
    await put(
        store, run, label(), label(rater="lee"), label(criterion="exact-1"), label(turn=1),
        label(kind="preferred", value="a", other_seq=other.seq, side="b"),
    )  # fmt: skip
    assert len(await values(store, run)) == 5
    assert (await store.labels.of_run(run))[-1].other_run_id == other.id


async def test_the_same_label_sent_again_counts_once(store: Store) -> None:
    run = await new_run(store)
    for at in (1000.0, 1000.5, 999.0):
        assert await put(store, run, label(id="label_a", at=at)) == ["kept"]
    assert len(await values(store, run)) == 1


async def test_one_that_was_taken_back_stays_away_however_often_it_is_sent(store: Store) -> None:
    run = await new_run(store)
    await put(store, run, label(id="label_a"))
    assert await store.labels.delete("default", "label_a")
    assert not await store.labels.delete("default", "label_a")
    assert await put(store, run, label(id="label_a")) == ["undone"]
    assert await values(store, run) == []
    assert await put(store, run, label(id="label_b")) == ["kept"]


async def test_an_id_of_another_row_run_or_project_is_refused_and_nothing_is_written(store: Store) -> None:
    run, other = await new_run(store), await new_run(store, "other")
    await put(store, run, label(id="label_a"))
    for where, new in ((run, label(1, id="label_a")), (other, label(id="label_a"))):
        with pytest.raises(LabelTaken, match="label_a"):
            await store.labels.put(where, [label(5), new])
    assert await values(store, run) == [(0, "kim", "pass")]
    assert await values(store, other) == []


async def test_projects_see_and_delete_their_own_labels_only(store: Store) -> None:
    run, other = await new_run(store), await new_run(store, "other")
    await put(store, run, label(id="label_a"))
    await put(store, other, label(id="label_b"))
    assert [each.id for each in (await store.labels.list("default")).data] == ["label_a"]
    assert await store.labels.get("default", "label_b") is None
    assert not await store.labels.delete("default", "label_b")
    assert (await store.labels.list("default", other)).data == []


async def test_labels_are_listed_in_pages_by_run_and_rater_without_skips(store: Store) -> None:
    run, more = await new_run(store), await new_run(store)
    await put(store, run, *(label(idx, id=f"label_{idx}", rater="kim" if idx % 2 else "lee") for idx in range(6)))
    await put(store, run, label(6, None, kind="skip"))
    await put(store, more, label(0, id="label_more"))
    page = await store.labels.list("default", run, limit=4)
    assert ([each.idx for each in page.data], page.has_more) == ([0, 1, 2, 3], True)
    page = await store.labels.list("default", run, "kim", 2, after="label_1")
    assert ([each.idx for each in page.data], page.has_more) == ([3, 5], False)
    await store.labels.delete("default", "label_3")
    assert [each.idx for each in (await store.labels.list("default", run, after="label_3")).data] == [4, 5]
    with pytest.raises(UnknownCursor):
        await store.labels.list("default", after="lost")
    assert (await store.labels.count(run), await store.labels.count(more)) == (5, 1)
    assert [each.value for each in await store.labels.of_row(run, 4)] == ["pass"]


async def test_labels_go_with_their_run_and_with_the_run_they_compare_it_to(store: Store) -> None:
    run, other = await new_run(store), await new_run(store)
    await put(store, run, label(), label(1, "a", kind="preferred", other_seq=other.seq))
    await store.runs.delete("default", other.eval_id, other.id)
    assert await values(store, run) == [(0, "kim", "pass")]
    await store.runs.delete("default", run.eval_id, run.id)
    assert await store.labels.put(run, [label()]) is None
    async with store._database.read() as connection:
        assert await connection.scalar(select(func.count()).select_from(tables.labels)) == 0


@pytest.mark.thorough
async def test_ten_thousand_labels_are_put_at_once_and_again(store: Store) -> None:
    run = await new_run(store)
    many = [label(idx, id=f"label_{idx}") for idx in range(10_000)]
    for _ in range(2):
        assert set(await put(store, run, *many)) == {"kept"}
    assert await store.labels.count(run) == 10_000


async def test_a_time_to_come_is_now(store: Store) -> None:
    run = await new_run(store)
    await put(store, run, label(at=time.time() + 1e6))
    assert await put(store, run, label(value="fail", at=time.time() + 1)) == ["kept"]
    assert await values(store, run) == [(0, "kim", "fail")]
