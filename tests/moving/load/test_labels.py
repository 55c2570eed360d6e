"""Labels in archives."""

from pathlib import Path

import pytest

from fairmark.labelling.batches import WantedBatch, begin
from fairmark.moving.archive import Archive
from fairmark.moving.export import export
from fairmark.moving.load import load
from fairmark.moving.load.report import KindTally
from fairmark.store import Eval, NewLabel, Run, Store
from tests.labelling.labelled import graded, question, say
from tests.labelling.test_batches import second_run
from tests.moving.test_export import content


async def fill(store: Store) -> tuple[Eval, Run]:
    eval_, run = await graded(store, 60)
    batch = await begin(store, run, WantedBatch("kim", question(eval_, run), 10))
    await say(store, eval_, run, {row.idx: "pass" for row in batch.rows}, note="\ud83d\x00", seconds=1.5)
    await say(store, eval_, run, {1: "fail"}, "lee\ud83d", weight=2.0)
    other = await second_run(store, run)
    asked = question(eval_, run, "preferred")
    pair = NewLabel(3, "kim", "preferred", "b", 9.5, criterion=asked.criterion, side="b", other_seq=other.seq)
    skip = NewLabel(4, "kim", "skip", None, 9.5, criterion=asked.criterion, turn=1)
    await store.labels.put(run, [pair, skip])
    return eval_, run


@pytest.mark.on_both
async def test_export_load_export_is_equal_with_labels(store: Store, tmp_path: Path) -> None:
    await fill(store)
    counts = await export(store, "default", tmp_path / "first")
    assert counts["labels"] >= 12
    empty = await Store.open(None, tmp_path / "empty")
    try:
        report = await load(Archive.open(tmp_path / "first"), empty, "other")
        assert (report.problems, report.clashes) == ([], [])
        await export(empty, "other", tmp_path / "second")
        assert content(tmp_path / "first") == content(tmp_path / "second")
        again = await load(Archive.open(tmp_path / "second"), empty, "other")
        assert again.tallies["labels"] == KindTally(unchanged=counts["labels"])
    finally:
        await empty.close()


async def test_labels_of_a_copied_run_are_copied_with_it(store: Store, tmp_path: Path) -> None:
    _, run = await fill(store)
    await export(store, "default", tmp_path / "a")
    for _ in range(2):
        await load(Archive.open(tmp_path / "a"), store, "mine", on_clash="copy")
    copies = [
        made
        for eval_ in (await store.evals.list("mine")).data
        for made in (await store.runs.list("mine", eval_.id)).data
    ]
    labels = [await store.labels.of_run(copy) for copy in copies]
    mine = [[(each.idx, each.rater, each.value) for each in said] for said in labels if said]
    assert mine == [[(each.idx, each.rater, each.value) for each in await store.labels.of_run(run)]]


async def test_a_later_label_is_not_put_back_by_an_old_archive(store: Store, tmp_path: Path) -> None:
    eval_, run = await graded(store, 4)
    await say(store, eval_, run, {0: "pass"})
    await export(store, "default", tmp_path / "a")
    await say(store, eval_, run, {0: "fail"})
    report = await load(Archive.open(tmp_path / "a"), store, "default")
    assert report.tallies["labels"] == KindTally(skipped=1)
    assert [each.value for each in await store.labels.of_run(run)] == ["fail"]


async def test_lines_that_are_no_labels_and_runs_that_are_not_there_are_told(store: Store, tmp_path: Path) -> None:
    eval_, run = await graded(store, 4)
    await say(store, eval_, run, {0: "pass"})
    await export(store, "default", tmp_path / "a")
    (tmp_path / "a" / "labels" / f"{run.id}.jsonl").write_bytes(b'{"object": "label"}\n7\n')
    (tmp_path / "a" / "labels" / "evalrun_lost.jsonl").write_bytes(b"")
    report = await load(Archive.open(tmp_path / "a"), store, "default")
    told = {problem.id for problem in report.problems}
    assert told == {"evalrun_lost", f"{run.id}, line 1", f"{run.id}, line 2"}
    assert len(await store.labels.of_run(run)) == 1
