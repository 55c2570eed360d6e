"""Loading an archive: what is in the store afterwards, once and again."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from fairmark import longjson
from fairmark.evals.engine import Engine
from fairmark.evals.eval_calls import eval_wire
from fairmark.evals.file_calls import file_wire
from fairmark.evals.run_calls import cancel_run, run_wire
from fairmark.moving.load import LoadReport, load
from fairmark.moving.load.report import KindTally
from fairmark.serving.wire import encode
from fairmark.store import Run, Store, View
from fairmark.store.base import tables
from tests.moving import hosted
from tests.moving.hosted import EXACT_ID, SOURCE, Hosted, three_rows
from tests.store.conftest import new_run

TABLES = [table for table in tables.metadata.sorted_tables if table.name not in ("keys", "sessions")]


def wire(value: dict[str, Any]) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(encode(value))
    return decoded


async def the_run(store: Store, run_id: str = "evalrun_1", project: str = "default") -> Run:
    run = await store.runs.get(project, "eval_1", run_id)
    assert run is not None
    return run


async def everything(store: Store) -> dict[str, list[Any]]:
    """All rows of all tables, for comparing."""
    async with store._database.read() as connection:
        found = {}
        for table in TABLES:
            rows = (await connection.execute(select(table))).all()
            found[table.name] = sorted(tuple(map(repr, row)) for row in rows)
        return found


@pytest.mark.on_both
async def test_everything_has_the_ids_times_and_counts_that_it_had(store: Store, tmp_path: Path) -> None:
    report = await load(three_rows(tmp_path / "a").archive, store, "default")
    assert report.tallies == {"files": KindTally(new=1), "evals": KindTally(new=1), "runs": KindTally(new=1)}
    assert (report.items, report.problems, report.clashes, report.warned) == (3, [], [], {})
    made = await store.evals.get("default", "eval_1")
    assert made is not None
    shown = wire(eval_wire(made))
    imported = shown.pop("imported")
    assert shown == hosted.eval_()
    assert imported["source"] == SOURCE
    assert isinstance(imported["at"], int)
    shown = wire(run_wire(await the_run(store), "http://here"))
    assert shown.pop("imported") == imported
    assert shown.pop("warnings") == []
    assert shown == {**hosted.run(), "report_url": "http://here/evals/eval_1/runs/evalrun_1"}
    file = await store.files.get("default", "file-1")
    assert file is not None
    assert wire(file_wire(file)) == {**hosted.file()[0], "imported": imported}
    assert store.files.content("file-1").read_bytes() == hosted.file()[1]


async def test_items_are_found_by_their_own_ids_and_paged_sorted_and_filtered(store: Store, tmp_path: Path) -> None:
    await load(three_rows(tmp_path / "a").archive, store, "default")
    run = await the_run(store)
    first = await store.items.list(run, 2)
    assert [each.id for each in first.data] == ["outputitem_evalrun_1_0", "outputitem_evalrun_1_1"]
    rest = await store.items.list(run, 2, first.data[-1].id)
    assert [json.loads(each.body) for each in rest.data] == [hosted.item("evalrun_1", 2, passed=False)]
    failed = await store.items.list(run, status="fail")
    assert [each.id for each in failed.data] == ["outputitem_evalrun_1_2"]
    found = await store.items.get(run, "outputitem_evalrun_1_2")
    assert found is not None
    assert (found.idx, found.status) == (2, "fail")
    assert await store.items.get(run, "outputitem_evalrun_1_9") is None
    page = await store.rows.page(run, View(sort=0), None, 10)
    assert [each.idx for each in page.data] == [2, 0, 1]
    assert (run.passed, run.failed, run.total) == (2, 1, 3)
    assert run.criteria_counts == {EXACT_ID: [2, 1, 0, 0]}
    assert (await store.scores.histogram(run, 0)).mean == pytest.approx(2 / 3)


@pytest.mark.on_both
async def test_loading_again_changes_nothing_and_adds_nothing(store: Store, tmp_path: Path) -> None:
    archive = three_rows(tmp_path / "a").archive
    await load(archive, store, "default")
    before = await everything(store)
    report = await load(archive, store, "default")
    assert report.tallies == {
        "files": KindTally(unchanged=1),
        "evals": KindTally(unchanged=1),
        "runs": KindTally(unchanged=1),
    }
    assert report.items == 0
    assert await everything(store) == before


async def test_what_has_changed_at_the_source_is_written_again_and_what_is_new_added(
    store: Store, tmp_path: Path
) -> None:
    growing = three_rows(tmp_path / "a")
    growing.run(hosted.run(passed=1, failed=0, status="in_progress"), [hosted.item("evalrun_1", 0)])
    await load(growing.archive, store, "default")
    first = await the_run(store)
    assert (first.status, first.total) == ("in_progress", 1)
    three_rows(tmp_path / "a").evals(hosted.eval_(name="Renamed"), hosted.eval_("eval_2"))
    report = await load(growing.archive, store, "default")
    assert report.tallies["evals"] == KindTally(new=1, changed=1)
    assert report.tallies["runs"] == KindTally(changed=1)
    again = await the_run(store)
    assert (again.status, again.total, again.passed, again.failed) == ("completed", 3, 2, 1)
    assert (again.imported or {})["at"] == (first.imported or {})["at"]
    assert len((await store.evals.list("default")).data) == 2
    assert len((await store.runs.list("default", "eval_1")).data) == 1
    assert len((await store.items.list(again)).data) == 3


async def test_a_change_made_here_stays_when_the_source_says_the_same_as_before(store: Store, tmp_path: Path) -> None:
    archive = three_rows(tmp_path / "a").archive
    await load(archive, store, "default")
    await store.evals.update("default", "eval_1", name="Ours")
    report = await load(archive, store, "default")
    assert report.tallies["evals"] == KindTally(unchanged=1)
    made = await store.evals.get("default", "eval_1")
    assert made is not None
    assert wire(eval_wire(made))["name"] == "Ours"


async def test_an_imported_run_is_history_whatever_its_status_says(store: Store, tmp_path: Path) -> None:
    going = three_rows(tmp_path / "a").run(hosted.run(status="in_progress"), [hosted.item("evalrun_1", 0)])
    await load(going.archive, store, "default")
    run = await the_run(store)
    assert await store.runs.claim() is None
    assert not await store.runs.start(run)
    cancelled = await cancel_run(store, Engine(store), "default", run)
    assert (cancelled.status, wire(run_wire(cancelled, ""))["status"]) == ("in_progress", "in_progress")


async def test_deleting_what_was_imported_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    await load(three_rows(tmp_path / "a").archive, store, "default")
    assert await store.evals.delete("default", "eval_1")
    assert await store.files.delete("default", "file-1")
    left = {name: rows for name, rows in (await everything(store)).items() if rows and name != "deleted"}
    assert left == {}


async def test_what_was_deleted_can_be_loaded_and_deleted_again(store: Store, tmp_path: Path) -> None:
    archive = three_rows(tmp_path / "a").archive
    for _ in range(2):
        await load(archive, store, "default")
        other = await new_run(store)
        assert [each.id for each in (await store.runs.list("default", "eval_1", after=None)).data] == ["evalrun_1"]
        page = await store.evals.list("default", 1, after="eval_1")
        assert [each.id for each in page.data] == [other.eval_id]
        assert await store.runs.delete("default", "eval_1", "evalrun_1")
        assert await store.evals.delete("default", "eval_1")
        assert await store.evals.delete("default", other.eval_id)
        assert await store.files.delete("default", "file-1")


async def test_counts_that_the_rows_do_not_bear_out_are_kept_and_warned_of(store: Store, tmp_path: Path) -> None:
    odd = three_rows(tmp_path / "a").run(hosted.run(passed=5, failed=0), [hosted.item("evalrun_1", 0)])
    report = await load(odd.archive, store, "default")
    run = await the_run(store)
    shown = wire(run_wire(run, ""))
    assert shown["result_counts"] == {"total": 5, "passed": 5, "failed": 0, "errored": 0}
    assert (run.passed, run.failed) == (1, 0)
    told = [each["warning"] for each in shown["warnings"]]
    assert told[0] == "the source counts 5 passed; the rows that came with it say 1 passed"
    assert EXACT_ID in told[1]
    assert report.warned == {"evalrun_1": told}


@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        ({"type": "azure_only", "name": "odd", "id": "odd-1"}, "unknown type"),
        ({"type": "python", "name": "odd", "id": "odd-1", "source": "def grade(sample item)"}, "invalid syntax"),
        ({"name": "odd", "id": "odd-1"}, "type"),
        ({"type": "label_model", "name": "odd", "id": "odd-1"}, "labels"),
        ("nonsense", "A criterion is an object"),
        (
            {
                "type": "score_model",
                "name": "odd",
                "id": "odd-1",
                "model": "<your model>",
                "input": [{"role": "user", "content": "?"}],
            },
            "placeholder",
        ),
    ],
)
async def test_a_criterion_that_cannot_run_here_comes_in_and_says_why(
    store: Store, tmp_path: Path, criterion: Any, reason: str
) -> None:
    given = three_rows(tmp_path / "a").evals(hosted.eval_(testing_criteria=[hosted.EXACT, criterion]))
    report = await load(given.archive, store, "default")
    made = await store.evals.get("default", "eval_1")
    assert made is not None
    shown = wire(eval_wire(made))["testing_criteria"]
    assert shown[0] == hosted.EXACT
    assert shown[1]["runnable"] is False
    assert reason in shown[1]["reason"]
    if isinstance(criterion, dict):
        assert criterion.items() <= shown[1].items()
    assert [(each.eval_id, each.reason) for each in report.undecided] == [("eval_1", shown[1]["reason"])]
    assert report.problems == []
    assert (await the_run(store)).passed == 2


async def test_an_error_of_the_source_is_an_error_here_with_its_reason(store: Store, tmp_path: Path) -> None:
    sample = {"input": [], "output": [], "error": {"code": "x", "message": "The model was away"}}
    judged = {"name": EXACT_ID, "score": None, "passed": False, "sample": {"error": {"message": "no judge"}}}
    items = [
        hosted.item("evalrun_1", 0, status="error", results=[], sample=sample),
        hosted.item("evalrun_1", 1, status="error", results=[judged]),
        hosted.item("evalrun_1", 2, results=[{"name": "exact", "score": 0.25, "passed": None}], status=None),
    ]
    report = await load(three_rows(tmp_path / "a").run(hosted.run(), items).archive, store, "default")
    run = await the_run(store)
    assert (run.passed, run.failed, run.errored, run.skipped) == (0, 0, 2, 1)
    assert run.reasons == {"The model was away": 1, "no judge": 1}
    assert run.criteria_counts == {EXACT_ID: [0, 0, 1, 1]}
    assert "2 errored, 1 skipped" in report.warned["evalrun_1"][0]


async def test_rows_without_usable_numbers_and_lines_that_are_none_are_kept_or_told(
    store: Store, tmp_path: Path
) -> None:
    given = three_rows(tmp_path / "a")
    items = [
        hosted.item("evalrun_1", 5, id="a"),
        hosted.item("evalrun_1", 5, id="b"),
        hosted.item("evalrun_1", 0, id="a b/\x00"),
        hosted.item("evalrun_1", 0, id="a", datasource_item_id=2**40, status="fail"),
    ]
    content = hosted.lines(items) + b'["no item"]\n{"id": \n'
    given.archive.write("items/evalrun_1.jsonl", content)
    report = await load(given.archive, store, "default")
    run = await the_run(store)
    found = (await store.items.list(run)).data
    own_form = [each.id.startswith("outputitem_") for each in found]
    assert [(each.idx, each.id) for each in found if each.id in ("a", "b")] == [(5, "a"), (6, "b")]
    assert ([each.idx for each in found], own_form) == ([0, 5, 6, 7], [True, False, False, True])
    assert "2 of its output items could not be read" in report.warned["evalrun_1"]
    for each in found:  # whoever has an id from a page finds the item by it
        there = await store.items.get(run, each.id)
        assert there is not None
        assert there.idx == each.idx


async def test_results_that_contradict_a_status_count_and_unknown_ones_are_told(store: Store, tmp_path: Path) -> None:
    failed = [{"name": EXACT_ID, "score": 0.0, "passed": False}, {"name": "gone", "score": 1, "passed": True}]
    given = three_rows(tmp_path / "a").run(hosted.run(), [hosted.item("evalrun_1", 0, results=failed)])
    report = await load(given.archive, store, "default")
    run = await the_run(store)
    assert (run.passed, run.failed) == (0, 1)
    assert [each.idx for each in (await store.rows.page(run, View(status="fail"), None, 9)).data] == [0]
    told = "\n".join(report.warned["evalrun_1"])
    assert "1 rows have a status that their results contradict" in told
    assert "criteria that its eval does not have: gone" in told


async def test_images_that_became_text_are_warned_of(store: Store, tmp_path: Path) -> None:
    sample = {"input": [{"role": "user", "content": "<image>https://x/y.png</image>"}], "output": []}
    given = three_rows(tmp_path / "a").run(hosted.run(), [hosted.item("evalrun_1", 0, sample=sample)])
    report = await load(given.archive, store, "default")
    assert any("graders see no image" in each for each in report.warned["evalrun_1"])


async def test_no_object_is_decoded_where_others_wait_for_the_event_loop(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = three_rows(tmp_path / "a").archive
    given.write("jobs.jsonl", b'{"object": "fine_tuning.job", "id": "ftjob-1", "status": "succeeded", "model": "m"}\n')
    given.write("completions.jsonl", b'{"id": "chatcmpl-1", "model": "m"}\n')
    given.write("messages/chatcmpl-1.json", b"[]")
    here, decode, seen = threading.current_thread(), longjson.decode, []

    def looking(text: bytes, **options: Any) -> Any:
        seen.append(threading.current_thread())
        return decode(text, **options)

    monkeypatch.setattr(longjson, "decode", looking)
    report = await load(given, store, "default")
    assert sum(tally.new for tally in report.tallies.values()) + report.items == len(seen) == 8
    assert here not in seen


async def test_a_dry_run_counts_and_writes_nothing(store: Store, tmp_path: Path) -> None:
    archive = three_rows(tmp_path / "a").archive
    before = await everything(store)
    report = await load(archive, store, "default", dry_run=True)
    assert report.tallies == {"files": KindTally(new=1), "evals": KindTally(new=1), "runs": KindTally(new=1)}
    assert await everything(store) == before
    assert not store.files.content("file-1").exists()


async def test_what_cannot_be_read_is_a_problem_and_the_rest_is_loaded(store: Store, tmp_path: Path) -> None:
    given = three_rows(tmp_path / "a").files(hosted.file(), hosted.file("file-2"))
    given.archive.path("files/file-2").unlink()
    given.archive.write("runs/evalrun_2.json", b'{"id": "evalrun_2", ')
    given.run(hosted.run("evalrun_3", eval_id="eval_9"), [])
    report = await load(given.archive, store, "default")
    told = {(each.kind, each.id): each.message for each in report.problems}
    assert told[("files", "file-2")] == "its content is not in the archive."
    assert told[("runs", "evalrun_2")].startswith("not JSON")
    assert told[("runs", "evalrun_3")] == "its eval eval_9 is neither in the archive nor here."
    assert (await the_run(store)).total == 3


async def test_unknown_keys_and_half_an_emoji_are_kept(store: Store, tmp_path: Path) -> None:
    strange: Any = {"name": "\ud83d", "nested": {"deep": [1e-7, "\ud83d", "\x00"]}, "metadata": None}
    given = Hosted(tmp_path / "a").evals(hosted.eval_(**strange))
    given.run(hosted.run(name="\ud83d", usage_metrics={"a": [1]}), [hosted.item("evalrun_1", 0, odd="\ud83d")])
    await load(given.archive, store, "default")
    made = await store.evals.get("default", "eval_1")
    assert made is not None
    assert hosted.eval_(**strange).items() <= wire(eval_wire(made)).items()
    shown = wire(run_wire(await the_run(store), ""))
    assert (shown["name"], shown["usage_metrics"]) == ("\ud83d", {"a": [1]})


def summary(report: LoadReport) -> str:
    return "\n".join(report.lines())


async def test_the_report_names_retired_judges_with_what_takes_their_place(store: Store, tmp_path: Path) -> None:
    judge = {"type": "score_model", "name": "j", "model": "o3-mini", "input": [{"role": "user", "content": "?"}]}
    multi = {"type": "multi", "name": "m", "graders": {"a": judge}, "calculate_output": "a"}
    given = Hosted(tmp_path / "a").evals(hosted.eval_(testing_criteria=[judge, multi]))
    report = await load(given.archive, store, "default")
    assert report.retired() == {"o3-mini": 2}
    assert 'retired judge, named by 2 criteria: "o3-mini"' in summary(report)
    assert '[aliases] "o3-mini" = "gpt-5.6-sol"' in summary(report)
