"""Ids that something else has already: told, and skipped, replaced or copied as asked."""

import json
from pathlib import Path

from fairmark.evals.run_calls import run_wire
from fairmark.moving.archive import Archive
from fairmark.moving.load import load
from fairmark.moving.load.report import KindTally
from fairmark.store import Store
from tests.evals.working import EXACT, new_eval
from tests.moving import hosted
from tests.moving.hosted import three_rows
from tests.moving.load.test_load import everything, the_run, wire


async def own_eval(store: Store, tmp_path: Path) -> Archive:
    """An archive whose eval has the id of one that was made here."""
    made = await new_eval(store, EXACT)
    given = three_rows(tmp_path / "a").evals(hosted.eval_(made.id))
    given.run(hosted.run(eval_id=made.id), [hosted.item("evalrun_1", 0, eval_id=made.id)])
    return given.archive


async def test_a_clash_is_told_and_skipped_with_its_runs_and_the_rest_is_loaded(store: Store, tmp_path: Path) -> None:
    archive = await own_eval(store, tmp_path)
    (before,) = (await store.evals.list("default")).data
    report = await load(archive, store, "default")
    assert report.tallies == {"files": KindTally(new=1), "evals": KindTally(skipped=1), "runs": KindTally(skipped=1)}
    (clash,) = report.clashes
    assert (clash.kind, clash.id, clash.done) == ("evals", before.id, "skipped")
    assert "made here" in clash.reason
    assert "was left out" in report.problems[0].message
    assert (await store.evals.list("default")).data == [before]


async def test_a_clash_can_be_replaced_and_runs_keep_the_criteria_they_had(store: Store, tmp_path: Path) -> None:
    archive = await own_eval(store, tmp_path)
    (before,) = (await store.evals.list("default")).data
    own = await store.runs.create("default", before.id, "ours", {}, b"{}", None, 0, {})
    report = await load(archive, store, "default", on_clash="replace")
    assert [clash.done for clash in report.clashes] == ["replaced"]
    after = await store.evals.get("default", before.id)
    assert after is not None
    assert (after.name, after.criteria) == ("Capitals", [hosted.EXACT])
    kept = await store.runs.get("default", before.id, own.id)
    assert kept is not None
    assert kept.criteria == before.criteria
    assert [run.id for run in (await store.runs.list("default", before.id)).data] == [own.id, "evalrun_1"]


async def test_a_clash_can_be_copied_once_however_often_it_is_loaded(store: Store, tmp_path: Path) -> None:
    archive = three_rows(tmp_path / "a").archive
    await load(archive, store, "theirs")
    report = await load(archive, store, "default", on_clash="copy")
    eval_id = report.copied["evals"]["eval_1"]
    run_id = report.copied["runs"]["evalrun_1"]
    file_id = report.copied["files"]["file-1"]
    assert [clash.done for clash in report.clashes] == [f"copied as {id_}" for id_ in (file_id, eval_id, run_id)]
    assert all("another project" in clash.reason for clash in report.clashes)
    run = await store.runs.get("default", eval_id, run_id)
    assert run is not None
    shown = wire(run_wire(run, ""))
    assert (shown["id"], shown["eval_id"], shown["data_source"]["source"]["id"]) == (run_id, eval_id, file_id)
    (item, *_) = (await store.items.list(run)).data
    body = json.loads(item.body)
    assert (body["id"], body["run_id"], body["eval_id"]) == ("outputitem_evalrun_1_0", run_id, eval_id)
    assert store.files.content(file_id).read_bytes() == hosted.file()[1]
    before = await everything(store)
    again = await load(archive, store, "default", on_clash="copy")
    assert again.tallies == {
        "files": KindTally(unchanged=1),
        "evals": KindTally(unchanged=1),
        "runs": KindTally(unchanged=1),
    }
    assert (again.copied, again.clashes) == (report.copied, [])
    assert await everything(store) == before
    assert json.loads((archive.read("copied.json") or b"").decode()) != {}


async def test_what_another_project_has_is_never_replaced(store: Store, tmp_path: Path) -> None:
    archive = three_rows(tmp_path / "a").archive
    await load(archive, store, "theirs")
    before = await everything(store)
    report = await load(archive, store, "default", on_clash="replace")
    assert [clash.done for clash in report.clashes] == ["skipped", "skipped"]  # the run has no eval to go to
    assert await everything(store) == before


async def test_another_source_that_says_something_else_of_an_id_clashes(store: Store, tmp_path: Path) -> None:
    await load(three_rows(tmp_path / "a").archive, store, "default")
    other = three_rows(tmp_path / "b", source="https://other/v1")
    report = await load(other.archive, store, "default")
    assert (report.clashes, report.tallies["runs"]) == ([], KindTally(unchanged=1))
    other.run(hosted.run(name="second"), [])
    report = await load(other.archive, store, "default")
    assert [(clash.id, clash.done) for clash in report.clashes] == [("evalrun_1", "skipped")]
    assert "came from https://api.openai.com/v1" in report.clashes[0].reason
    assert (await the_run(store)).name == "first"


async def test_an_id_that_no_path_could_hold_is_left_out_or_copied(store: Store, tmp_path: Path) -> None:
    given = three_rows(tmp_path / "a").evals(hosted.eval_("../eval")).files(hosted.file("rows-1"))
    given.run(hosted.run(eval_id="../eval"), [hosted.item("evalrun_1", 0)])
    report = await load(given.archive, store, "default")
    assert [(clash.id, clash.done) for clash in report.clashes] == [("rows-1", "skipped"), ("../eval", "skipped")]
    report = await load(given.archive, store, "default", on_clash="copy")
    assert sorted(report.copied) == ["evals", "files"]
    assert report.tallies["runs"] == KindTally(new=1)
