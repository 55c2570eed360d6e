"""Runs over rows that were copied into a file of their own."""

from collections.abc import AsyncIterator
from typing import Any

from fairmark import jsontext
from fairmark.evals.copied import copied_row
from fairmark.judges.fake import FakeAnswer
from fairmark.store import Run, Store
from tests.evals.working import EXACT, PROJECT, SAMPLED, Models, new_eval, worked_off

SAYS = {**EXACT, "name": "says", "input": "{{ sample.output_text }}"}


async def new_copy(store: Store, lines: list[bytes], data_source: dict[str, Any], **more: Any) -> Run:
    async def given() -> AsyncIterator[bytes]:
        for line in lines:
            yield line

    name = await store.row_files.write(given())
    made = await new_eval(store, SAYS)
    kept = jsontext.encode(data_source)
    return await store.runs.create(PROJECT, made.id, "", {}, kept, None, len(lines), {}, rows_file=name, **more)


async def test_the_rows_of_the_file_are_graded_whatever_the_data_source_names(store: Store) -> None:
    shown = {"input": [{"role": "user", "content": "Say 1"}], "output": [{"role": "assistant", "content": "1"}]}
    lines = [
        copied_row({"n": 1, "half": "\ud83d"}, "1"),
        copied_row({"n": 2}, {"output_text": "1"}, shown),
        copied_row({"n": 3}, None, absent="the model was away"),
    ]
    source = {"type": "jsonl", "source": {"type": "file_id", "id": "file-gone"}}
    run, seen = await worked_off(store, await new_copy(store, lines, source))
    assert (run.status, run.error, run.passed, run.failed, run.errored) == ("completed", None, 2, 0, 1)
    assert [item["datasource_item"] for item in seen] == [{"n": 1, "half": "\ud83d"}, {"n": 2}, {"n": 3}]
    assert seen[0]["sample"]["output"][0]["content"] == "1"
    assert seen[1]["sample"] == shown
    assert seen[2]["results"][0]["error"] == "there is no sample: the model was away"


async def test_a_model_is_asked_for_copied_rows_unless_they_are_graded_again(store: Store) -> None:
    source = {**SAMPLED, "source": {"type": "stored_completions"}}
    models = Models(lambda messages: FakeAnswer("1"))
    anew, _ = await worked_off(store, await new_copy(store, [copied_row({"a": "1"}, "0")], source), models)
    assert (anew.passed, models.asked_of("student")) == (1, ["Say 1"])
    run = await new_copy(store, [copied_row({"a": "1"}, "0")], source, regraded_from=anew.id)
    again, _ = await worked_off(store, run, models)
    assert (again.failed, models.asked_of("student")) == (1, ["Say 1"])


async def test_a_run_whose_file_was_taken_away_fails_and_says_so(store: Store) -> None:
    run = await new_copy(store, [copied_row({}, "1")], {"type": "jsonl"})
    store.row_files.path(run.rows_file or "").unlink()
    found, seen = await worked_off(store, run)
    assert (found.status, seen) == ("failed", [])
    assert found.error is not None
    assert "the run's own copy of its rows cannot be read: no such file" in found.error["message"]
