"""Fine-tuning jobs out of an archive, with their events and checkpoints."""

from pathlib import Path
from typing import Any

from fairmark import jsontext
from fairmark.moving.archive import Archive, part_name
from fairmark.moving.load import load
from fairmark.moving.load.report import KindTally
from fairmark.store import Store
from tests.moving.hosted import Hosted, lines


def job(id_: str, created_at: int = 1_700_000_000, **more: Any) -> dict[str, Any]:
    about = {"object": "fine_tuning.job", "id": id_, "created_at": created_at, "status": "succeeded"}
    return {**about, "model": "o4-mini", "metadata": None, **more}


def hosted(folder: Path, *jobs: dict[str, Any]) -> Archive:
    archive = Hosted(folder).archive
    archive.write("jobs.jsonl", lines(jobs))
    archive.write(part_name("events", "ftjob-1", ".jsonl"), lines([{"id": "e-2"}, {"id": "e-1"}]))
    archive.write(part_name("checkpoints", "ftjob-1", ".jsonl"), lines([{"id": "c-1"}]))
    return archive


async def test_jobs_come_in_the_oldest_first_with_all_that_belongs_to_them(store: Store, tmp_path: Path) -> None:
    archive = hosted(tmp_path / "a", job("ftjob-2"), job("ftjob-1"), job("ftjob-3", 1))
    report = await load(archive, store, "default")
    assert report.tallies == {"jobs": KindTally(new=3)}
    listed = (await store.jobs.list("default")).data
    assert [each.id for each in listed] == ["ftjob-2", "ftjob-1", "ftjob-3"]
    assert [each.id for each in (await store.jobs.events(listed[1])).data] == ["e-2", "e-1"]
    assert [each.id for each in (await store.jobs.checkpoints(listed[1])).data] == ["c-1"]
    assert (await load(archive, store, "default")).tallies == {"jobs": KindTally(unchanged=3)}


async def test_a_job_that_went_on_is_written_again_and_another_sources_is_a_clash(store: Store, tmp_path: Path) -> None:
    await load(hosted(tmp_path / "a", job("ftjob-1", status="running")), store, "default")
    report = await load(hosted(tmp_path / "a", job("ftjob-1")), store, "default")
    assert report.tallies == {"jobs": KindTally(changed=1)}
    other = hosted(tmp_path / "b", job("ftjob-1", model="x"), {"id": "ftjob-9", "object": "list"})
    other.save_manifest({"source": "elsewhere"})
    report = await load(other, store, "default")
    assert [(clash.id, clash.done) for clash in report.clashes] == [("ftjob-1", "skipped")]
    assert [problem.id for problem in report.problems] == ["ftjob-9"]
    assert (await load(other, store, "default", on_clash="replace")).tallies["jobs"].changed == 1


async def test_a_job_whose_id_is_taken_is_copied_once_with_all_that_belongs_to_it(store: Store, tmp_path: Path) -> None:
    await load(hosted(tmp_path / "a", job("ftjob-1", model="x")), store, "other")
    archive = hosted(tmp_path / "b", job("ftjob-1"))
    archive.write(
        part_name("checkpoints", "ftjob-1", ".jsonl"), lines([{"id": "c-1", "fine_tuning_job_id": "ftjob-1"}])
    )
    report = await load(archive, store, "default", on_clash="copy")
    assert report.tallies == {"jobs": KindTally(new=1)}
    (copy,) = (await store.jobs.list("default")).data
    assert [(clash.id, clash.done) for clash in report.clashes] == [("ftjob-1", f"copied as {copy.id}")]
    assert copy.id != "ftjob-1"
    assert [event.id for event in (await store.jobs.events(copy)).data] == ["e-2", "e-1"]
    (checkpoint,) = (await store.jobs.checkpoints(copy)).data
    assert jsontext.decode(checkpoint.body) == {"id": "c-1", "fine_tuning_job_id": copy.id}
    assert jsontext.decode(await store.jobs.received(copy) or b"") == {**job("ftjob-1"), "id": copy.id}
    assert (await load(archive, store, "default", on_clash="copy")).tallies == {"jobs": KindTally(unchanged=1)}
    assert len((await store.jobs.list("default")).data) == 1


async def test_a_dry_run_says_of_every_job_what_would_become_of_it(store: Store, tmp_path: Path) -> None:
    archive = hosted(tmp_path / "a", job("ftjob-1"), job("ftjob-2"))
    for on_clash, expected in (("skip", KindTally(new=2)), ("copy", KindTally(new=2))):
        report = await load(archive, store, "default", on_clash=on_clash, dry_run=True)  # type: ignore[arg-type]
        assert report.tallies == {"jobs": expected}
    assert (await store.jobs.list("default")).data == []
    await load(archive, store, "default")
    changed = hosted(tmp_path / "b", job("ftjob-1", status="failed"), job("ftjob-2"))
    assert (await load(changed, store, "default", dry_run=True)).tallies == {"jobs": KindTally(changed=1, unchanged=1)}
    report = await load(archive, store, "other", dry_run=True)
    assert (report.tallies, len(report.clashes)) == ({"jobs": KindTally(skipped=2)}, 2)
    assert (await load(archive, store, "default")).tallies == {"jobs": KindTally(unchanged=2)}
