"""Archives that hold parts of the same things: whatever comes in which order, all of it is there in the end."""

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from fairmark import jsontext
from fairmark.moving.archive import Archive
from fairmark.moving.export import export
from fairmark.moving.files.converting import convert
from fairmark.moving.load import LoadReport, load
from fairmark.store import Store
from tests.moving.files.made import AT, lines
from tests.moving.files.test_apidump import CRITERION, EVAL, RUN, item

ITEMS = [item(number, number % 2 == 0) for number in range(5)]
DEFINED = {"type": "string_check", "input": "{{sample.output_text}}", "reference": "a0", "operation": "eq"}
WHOLE = {**EVAL, "testing_criteria": [{**DEFINED, "id": CRITERION, "name": "Tone"}]}
COUNTED = {**RUN, "name": "mine", "result_counts": {"total": 5, "passed": 3, "failed": 2, "errored": 0}}


async def bring(store: Store, folder: Path, *objects: dict[str, Any], **more: Any) -> LoadReport:
    """Objects that were saved in one file."""
    number = len(list(folder.iterdir()))
    path = folder / f"{number}.jsonl"
    path.write_text(lines(*objects))
    convert(path, Archive(folder / f"archive-{number}"), created_at=AT)
    return await load(Archive(folder / f"archive-{number}"), store, "default", **more)


async def exported(store: Store, folder: Path) -> dict[str, list[dict[str, Any]]]:
    archive = Archive(folder / "exported")
    await export(store, "default", archive.folder)
    runs = [archive.read(f"runs/{id_}.json") or b"" for id_ in archive.ids("runs", ".json")]
    found = {"evals": list(archive.lines("evals.jsonl")), "runs": runs}
    found["items"] = [line for id_ in archive.ids("items", ".jsonl") for line in archive.lines(f"items/{id_}.jsonl")]
    return {kind: [jsontext.decode(body) for body in bodies] for kind, bodies in found.items()}


PARTS: dict[str, list[dict[str, Any]]] = {"evals": [WHOLE], "runs": [COUNTED], "first": ITEMS[:3], "others": ITEMS[2:]}


@pytest.mark.parametrize("order", list(permutations(PARTS))[::5])
async def test_parts_come_in_any_order_and_nothing_made_up_takes_the_place_of_what_was_said(
    store: Store, tmp_path: Path, order: tuple[str, ...]
) -> None:
    for part in order:
        report = await bring(store, tmp_path, *PARTS[part])
        assert report.is_whole
    assert await exported(store, tmp_path) == {"evals": [WHOLE], "runs": [COUNTED], "items": ITEMS}
    run = await store.runs.find("default", "evalrun_1")
    assert run is not None
    assert (run.passed, run.failed) == (3, 2)
    for part in order:
        report = await bring(store, tmp_path, *PARTS[part])
        assert {kind: words for kind, words in report.counts() if "unchanged" not in words} == {}


async def test_items_that_come_in_pages_are_all_counted(store: Store, tmp_path: Path) -> None:
    for page in (ITEMS[:2], ITEMS[2:]):
        await bring(store, tmp_path, *page)
    (run,) = (await exported(store, tmp_path))["runs"]
    assert run["result_counts"] == {"total": 5, "passed": 3, "failed": 2, "errored": 0, "skipped": 0}
    assert run["per_testing_criteria_results"] == [{"testing_criteria": CRITERION, "passed": 3, "failed": 2}]


async def test_criteria_that_pages_name_come_together(store: Store, tmp_path: Path) -> None:
    other = {**ITEMS[1], "results": [{"name": "Other", "score": 0.5, "passed": True}]}
    await bring(store, tmp_path, ITEMS[0])
    await bring(store, tmp_path, other)
    (eval_,) = (await exported(store, tmp_path))["evals"]
    assert [criterion["id"] for criterion in eval_["testing_criteria"]] == [CRITERION, "Other"]


async def test_a_run_whose_eval_comes_later_can_be_graded_by_it(store: Store, tmp_path: Path) -> None:
    await bring(store, tmp_path, COUNTED, *ITEMS)
    await bring(store, tmp_path, WHOLE)
    run = await store.runs.find("default", "evalrun_1")
    assert run is not None
    assert run.criteria is None or [criterion["type"] for criterion in run.criteria] == ["string_check"]


async def test_what_came_from_elsewhere_still_clashes(store: Store, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "pulled")
    archive.write("evals.jsonl", lines(WHOLE).encode())
    archive.write("runs/evalrun_1.json", lines(COUNTED).strip().encode())
    archive.write("items/evalrun_1.jsonl", lines(*ITEMS).encode())
    archive.save_manifest({"source": "openai"})
    await load(archive, store, "default")
    report = await bring(store, tmp_path, WHOLE, {**COUNTED, "name": "another"}, *ITEMS[:1])
    assert [(clash.kind, clash.done) for clash in report.clashes] == [("runs", "skipped")]
    report = await bring(store, tmp_path, *ITEMS[:2])
    assert not report.clashes
    assert dict(report.counts()) == {"files": "1 unchanged", "evals": "1 unchanged", "runs": "1 unchanged"}
    found = await exported(store, tmp_path)
    assert (found["runs"], found["items"]) == ([COUNTED], ITEMS)


async def test_what_is_made_up_gives_way_to_whatever_is_read_later(store: Store, tmp_path: Path) -> None:
    await bring(store, tmp_path, *ITEMS[:2])
    archive = Archive(tmp_path / "pulled")
    archive.write("evals.jsonl", lines(WHOLE).encode())
    archive.write("runs/evalrun_1.json", lines(COUNTED).strip().encode())
    archive.write("items/evalrun_1.jsonl", lines(*ITEMS).encode())
    archive.save_manifest({"source": "openai"})
    report = await load(archive, store, "default")
    assert report.is_whole
    assert await exported(store, tmp_path) == {"evals": [WHOLE], "runs": [COUNTED], "items": ITEMS}


async def test_a_list_of_completions_leaves_what_was_asked(store: Store, tmp_path: Path) -> None:
    made = {"object": "chat.completion", "id": "chatcmpl-1", "created": 5, "model": "m", "choices": []}
    archive = Archive(tmp_path / "pulled")
    archive.write("completions.jsonl", lines(made).encode())
    archive.write("messages/chatcmpl-1.json", b'[{"id":"1","role":"user","content":"hi"}]')
    archive.save_manifest({"source": "openai"})
    await load(archive, store, "default")
    report = await bring(store, tmp_path, made)
    assert report.is_whole
    asked = await store.completions.read_input("default", "chat", "chatcmpl-1")
    assert asked is not None
    assert [jsontext.decode(bytes(one))["content"] for one in asked] == ["hi"]
