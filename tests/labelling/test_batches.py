"""Which rows raters get."""

import asyncio
from collections import Counter

import pytest

from fairmark.errors import ApiError
from fairmark.labelling.batches import WantedBatch, begin, left
from fairmark.store import LabelBatch, Run, Store
from tests.labelling.labelled import graded, question, say


def ones(batch: LabelBatch) -> list[int]:
    return [row.idx for row in batch.rows if not row.turn]


async def test_a_batch_has_no_row_twice_but_for_one_in_twenty_later(store: Store) -> None:
    eval_, run = await graded(store, 200)
    batch = await begin(store, run, WantedBatch("kim", question(eval_, run), 100))
    rows = ones(batch)
    assert 99 <= len(rows) == len(set(rows)) <= 100
    again = [row.idx for row in batch.rows if row.turn]
    assert len(again) == len(set(again)) == 5
    places = {(row.idx, row.turn): at for at, row in enumerate(batch.rows)}
    assert all(places[idx, 1] > places[idx, 0] for idx in again)
    assert rows != sorted(rows)
    assert {row.picked for row in batch.rows} >= {"random", "doubtful"}
    assert all(0 < row.chance <= 1 for row in batch.rows)


async def test_two_raters_share_a_fifth_and_have_orders_of_their_own(store: Store) -> None:
    eval_, run = await graded(store, 200)
    kim, lee = await asyncio.gather(
        *(begin(store, run, WantedBatch(name, question(eval_, run), 50)) for name in ("kim", "lee"))
    )
    shared = set(ones(kim)) & set(ones(lee))
    assert len(shared) == 10
    assert [idx for idx in ones(kim) if idx in shared] != [idx for idx in ones(lee) if idx in shared]
    new = Counter(row.idx for batch in (kim, lee) for row in batch.rows if row.is_new)
    assert set(new.values()) == {1}


async def test_a_rater_goes_on_with_a_batch_until_it_is_done_and_then_gets_other_rows(store: Store) -> None:
    eval_, run = await graded(store, 40)
    wanted = WantedBatch("kim", question(eval_, run), 10)
    batch = await begin(store, run, wanted)
    assert (await begin(store, run, wanted)).id == batch.id
    await say(store, eval_, run, {row.idx: "pass" for row in batch.rows[:5]})
    assert left(batch, await store.labels.of_run(run)) == len(batch.rows) - 5
    await say(store, eval_, run, dict.fromkeys(ones(batch), "fail"))
    if any(row.turn for row in batch.rows):
        assert (await begin(store, run, wanted)).id == batch.id
    else:
        assert not set(ones(await begin(store, run, wanted))) & set(ones(batch))


async def test_the_last_rater_of_a_small_run_gets_what_others_have_and_then_nothing(store: Store) -> None:
    eval_, run = await graded(store, 6)
    for name in ("kim", "lee"):
        assert sorted(ones(await begin(store, run, WantedBatch(name, question(eval_, run), 10)))) == list(range(6))
    await say(store, eval_, run, dict.fromkeys(range(6), "pass"))
    with pytest.raises(ApiError, match="labelled every row"):
        await begin(store, run, WantedBatch("kim", question(eval_, run), 10))


async def test_a_third_voice_gets_the_rows_on_which_others_disagree(store: Store) -> None:
    eval_, run = await graded(store, 20)
    await say(store, eval_, run, {1: "pass", 2: "pass", 3: "pass"})
    await say(store, eval_, run, {1: "fail", 2: "pass", 3: "fail"}, "lee")
    third = WantedBatch("moe", question(eval_, run), 10, only_split=True)
    assert sorted(ones(await begin(store, run, third))) == [1, 3]
    with pytest.raises(ApiError, match="no row on which others disagree"):
        await begin(store, run, third._replace(rater="kim"))


async def test_a_run_that_is_deleted_meanwhile_is_not_labelled(store: Store) -> None:
    eval_, run = await graded(store, 5)
    await store.runs.delete("default", run.eval_id, run.id)
    with pytest.raises(ApiError) as error:
        await begin(store, run, WantedBatch("kim", question(eval_, run), 5))
    assert error.value.status in (404, 409)


async def test_pairs_are_of_rows_with_the_same_item_and_each_has_a_side(store: Store) -> None:
    eval_, run = await graded(store, 60)
    other = await second_run(store, run)
    batch = await begin(store, run, WantedBatch("kim", question(eval_, run, "preferred"), 40, other))
    assert (batch.kind, batch.other_run_id) == ("preferred", other.id)
    assert Counter(row.side for row in batch.rows).keys() == {"a", "b"}


async def second_run(store: Store, run: Run) -> Run:
    from fairmark import jsontext
    from tests.evals.working import worked_off
    from tests.labelling.labelled import rows

    source = {"type": "jsonl", "source": {"type": "file_content", "content": rows(60, lambda index: index % 3 == 0)}}
    made = await store.runs.create("default", run.eval_id, "", {}, jsontext.encode(source), None, 60, {})
    return (await worked_off(store, made))[0]
