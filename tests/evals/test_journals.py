"""Runs of fairmark eval, taken into a store: they are runs like all others."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.data import journal
from fairmark.data.dataset import DataRow
from fairmark.data.journal import DataNamed, Journal, JournalledRun
from fairmark.data.results import encode_row, fingerprint
from fairmark.evals.journals import eval_id_of, take_in
from fairmark.evals.local import SOURCE
from fairmark.judgement import Judgement, Usage
from fairmark.parse import parse
from fairmark.result import Grade, Result
from fairmark.store import Run, Store
from fairmark.store.received import TAKING_IN

EXACT = parse({"type": "string_check", "name": "exact", "input": "a", "reference": "b", "operation": "eq"})
RATED = parse(
    {
        "type": "score_model",
        "name": "rated",
        "model": "judge",
        "input": [{"role": "user", "content": "?"}],
        "pass_threshold": 0.5,
    }
)
JUDGED = Judgement(
    "judge",
    [{"role": "user", "content": "Rate this."}],
    output='{"result": 0.75}',
    value={"result": 0.75, "steps": []},
    usage=Usage(10, 5, 15, 0),
    cost=0.25,
    attempts=1,
)


def keep(
    home: Path,
    run_id: str = "evalrun_1",
    rows: int = 3,
    ends: bool = True,
    whole: bool = True,
    more: dict[str, Any] | None = None,
    by: str = "",
) -> JournalledRun:
    """The journal of an eval of so many rows: the second fails, the third cannot be graded."""
    graders = {"exact": EXACT, "rated": RATED, **(more or {})}
    mark = fingerprint(graders)
    kept = JournalledRun(
        run_id,
        "default",
        "capitals",
        "main",
        {label: spec.echo() for label, spec in graders.items()},
        mark,
        DataNamed("capitals", "/data/capitals.jsonl", 12, "ab12"),
        1_700_000_000.0,
        output="/out.jsonl",
        by=by,
    )
    begun = Journal(home, kept)
    for number in range(1, rows + 1):
        grade = Grade(1.0) if number % 3 == 1 else Grade(0.0) if number % 3 == 2 else Grade(0.0, error="no field a")
        results = {label: Result(spec, grade, 0.1, ("odd",)) for label, spec in graders.items()}
        results["rated"] = Result(RATED, Grade(0.75, judgements=(JUDGED,)), 0.2)
        begun.add(encode_row(mark, DataRow(number, {"a": str(number)}, "said"), results, with_input=True))
    if ends:
        begun.end(whole=whole, goes_on=not whole)
    else:
        begun._write()
        assert begun._stream is not None
        begun._stream.close()  # as the kernel does for who is killed
    return begun.kept


async def the_run(store: Store, run_id: str = "evalrun_1") -> Run:
    labels = ["exact", "rated"]
    found = await store.runs.get("default", eval_id_of("default", "capitals", labels), run_id)
    assert found is not None
    return found


async def test_a_run_is_there_with_rows_reasons_and_costs(store: Store, tmp_path: Path) -> None:
    keep(tmp_path)
    assert await take_in(store, tmp_path, "") == ["evalrun_1"]
    run = await the_run(store)
    assert (run.name, run.status, run.total) == ("main", "completed", 3)
    assert (run.passed, run.failed, run.errored) == (1, 1, 1)
    assert sorted(run.criteria_counts.values()) == [[1, 1, 1, 0], [3, 0, 0, 0]]
    assert run.reasons == {"no field a": 1}
    assert run.warnings == {"odd": 3}
    assert run.cost == 0.75
    assert run.usage == {"judge": [3, 30, 15, 45, 0]}
    assert run.imported is not None
    assert run.imported["source"] == SOURCE
    source = json.loads(run.data_source)["source"]
    assert (source["path"], source["sha256"]) == ("/data/capitals.jsonl", "ab12")
    items = (await store.items.list(run)).data
    assert [item.status for item in items] == ["pass", "fail", "error"]
    first = json.loads(items[0].body)
    assert (first["datasource_item"], first["datasource_item_id"]) == ({"a": "1"}, 0)
    assert first["sample"]["output"][0]["content"] == "said"
    assert first["results"][1]["sample"]["input"] == [{"role": "user", "content": "Rate this."}]
    assert first["results"][1]["score"] == 0.75
    assert journal.pending(tmp_path) == []
    assert await take_in(store, tmp_path, "") == []


async def test_runs_of_one_name_and_labels_are_runs_of_one_eval_also_when_a_grader_changed(
    store: Store, tmp_path: Path
) -> None:
    keep(tmp_path)
    changed = parse({**EXACT.echo(), "operation": "ne"})
    keep(tmp_path, "evalrun_2", more={"exact": changed})
    keep(tmp_path, "evalrun_3", more={"another": EXACT})
    assert len(await take_in(store, tmp_path, "")) == 3
    evals = (await store.evals.list("default")).data
    assert [eval_.name for eval_ in evals] == ["capitals", "capitals"]
    runs = (await store.runs.list("default", eval_id_of("default", "capitals", ["exact", "rated"]))).data
    assert [run.id for run in runs] == ["evalrun_1", "evalrun_2"]
    assert runs[0].criteria is None
    assert runs[1].criteria is not None
    assert [criterion["operation"] for criterion in runs[1].criteria if "operation" in criterion] == ["ne"]
    assert evals[0].criteria[0]["operation"] == "eq"


async def test_a_killed_eval_is_a_failed_run_of_the_rows_it_had(store: Store, tmp_path: Path) -> None:
    kept = keep(tmp_path, ends=False)
    with (tmp_path / journal.FOLDER / f"{kept.id}.jsonl").open("ab") as rows:
        rows.write(b'{"row":4,"grad')
    await take_in(store, tmp_path, "")
    run = await the_run(store)
    assert (run.status, run.total) == ("failed", 3)
    assert run.error == {"code": "killed", "message": "fairmark eval was killed."}
    assert run.warnings is not None
    assert "fairmark eval was killed after 3 rows: --resume goes on" in run.warnings


async def test_a_run_that_goes_on_takes_the_place_of_what_was_there(store: Store, tmp_path: Path) -> None:
    keep(tmp_path, rows=2, whole=False)
    await take_in(store, tmp_path, "")
    assert (await the_run(store)).status == "canceled"
    keep(tmp_path, rows=5)
    await take_in(store, tmp_path, "")
    run = await the_run(store)
    assert (run.status, run.total, run.passed) == ("completed", 5, 2)
    assert len((await store.items.list(run)).data) == 5


async def test_a_run_that_was_cut_off_while_it_was_taken_in_is_taken_in_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path, rows=6)
    monkeypatch.setattr("fairmark.evals.journals.ROWS_A_BATCH", 2)

    def stop(run_id: str, rows: int) -> None:
        if rows == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await take_in(store, tmp_path, "", stop)
    assert (await the_run(store)).warnings is not None
    assert TAKING_IN in ((await the_run(store)).warnings or {})
    assert await take_in(store, tmp_path, "") == ["evalrun_1"]
    run = await the_run(store)
    assert (run.total, run.passed) == (6, 2)
    assert TAKING_IN not in (run.warnings or {})


async def test_a_run_belongs_to_the_database_it_was_made_for(store: Store, tmp_path: Path) -> None:
    keep(tmp_path)
    assert await take_in(store, tmp_path, "sqlite:///other.db") == []
    assert len(journal.pending(tmp_path)) == 1


async def test_a_journal_that_is_none_is_set_aside_and_the_next_is_taken_in(store: Store, tmp_path: Path) -> None:
    kept = keep(tmp_path)
    (tmp_path / journal.FOLDER / f"{kept.id}.jsonl").write_bytes(b'{"row":1}\n')
    keep(tmp_path, "evalrun_2")
    assert await take_in(store, tmp_path, "") == ["evalrun_2"]
    assert (tmp_path / journal.FOLDER / f"{kept.id}.broken").exists()
    assert await take_in(store, tmp_path, "") == []


async def test_a_run_of_a_grader_that_nobody_knows_here_passes_what_it_passed(store: Store, tmp_path: Path) -> None:
    kept = keep(tmp_path)
    header = tmp_path / journal.FOLDER / f"{kept.id}.json"
    header.write_text(header.read_text().replace('"type":"string_check"', '"type":"gone_kind"'))
    await take_in(store, tmp_path, "")
    run = await the_run(store)
    assert (run.passed, run.failed, run.errored) == (1, 1, 1)


async def test_nobody_works_on_such_a_run(store: Store, tmp_path: Path) -> None:
    keep(tmp_path, ends=False)
    await take_in(store, tmp_path, "")
    assert await store.runs.claim() is None
