"""Grading a run again: the same rows and answers, other criteria or judges, and nothing is sampled."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.evals.engine import Engine
from fairmark.evals.eval_calls import find_eval
from fairmark.evals.foreign import FLATTENED
from fairmark.evals.regrade import regrade, row_of
from fairmark.evals.run_calls import run_wire
from fairmark.judges.base import Judge
from fairmark.judges.fake import FakeAnswer, FakeJudge
from fairmark.moving.load import load
from fairmark.registry.keeping import Registration
from fairmark.registry.lookup import Registry
from fairmark.store import Run, Store
from tests.evals.working import EXACT, JUDGE, PROJECT, SAMPLED, Models, ended, items, new_run, rows, worked_off, working
from tests.moving import hosted
from tests.moving.hosted import three_rows

SAYS = {**EXACT, "name": "says", "input": "{{ sample.output_text }}", "reference": "{{ item.a }}"}


def answering(messages: Any) -> FakeAnswer:
    text = messages[0]["content"]
    return FakeAnswer(text.removeprefix("Say ")) if text.startswith("Say ") else FakeAnswer('{"steps":[],"result":1}')


async def again(store: Store, run: Run, judge: Judge | None = None, **body: Any) -> tuple[Run, list[dict[str, Any]]]:
    async with working(store, judge) as engine:
        eval_ = await find_eval(store, PROJECT, run.eval_id)
        made = await regrade(store, Registry(store.graders.find), engine, PROJECT, eval_, run, body)
        found = await ended(store, made)
    return found, await items(store, found)


async def imported(store: Store, tmp_path: Path, *more: dict[str, Any], **about: Any) -> Run:
    given = three_rows(tmp_path / "a").evals(hosted.eval_(testing_criteria=[hosted.EXACT, *more]))
    given.run(hosted.run(**about), [hosted.item("evalrun_1", 0), hosted.item("evalrun_1", 1, passed=False)])
    await load(given.archive, store, PROJECT)
    run = await store.runs.get(PROJECT, "eval_1", "evalrun_1")
    assert run is not None
    return run


async def test_a_run_of_ours_is_graded_again_without_sampling(store: Store) -> None:
    models = Models(answering)
    first, seen = await worked_off(store, await new_run(store, [SAYS], rows(3), SAMPLED), models)
    assert len(models.asked_of("student")) == 3
    second, again_seen = await again(store, first, models, testing_criteria=[{**SAYS, "reference": "1"}], name="again")
    assert len(models.asked_of("student")) == 3
    assert (second.status, second.name, second.passed, second.failed) == ("completed", "again", 2, 1)
    assert (second.regraded_from, second.model) == (first.id, first.model)
    assert second.data_source == first.data_source
    for old, new in zip(seen, again_seen, strict=True):
        assert (new["datasource_item"], new["sample"]) == (old["datasource_item"], old["sample"])
    shown = json.loads(json.dumps(run_wire(second, ""), default=lambda raw: json.loads(bytes(raw))))
    assert shown["regraded_from"] == first.id
    assert shown["testing_criteria"][0]["reference"] == "1"
    assert (await store.runs.get(PROJECT, first.eval_id, first.id)) == first


BETTER = {
    "type": "preference",
    "name": "better",
    "model": "judge",
    "criteria": "Is the larger number.",
    "a": "{{ sample.output_text }}",
    "b": "{{ sample.against.output_text }}",
}


def larger(messages: Any) -> str:
    text = messages[-1]["content"]
    first, second = (int(part.split("\n")[1]) for part in text.split(" answer:")[1:])
    return "tie" if first == second else "first" if first > second else "second"


def answered(*numbers: int) -> list[dict[str, Any]]:
    return [{"item": {"n": n}, "sample": {"output_text": str(number)}} for n, number in enumerate(numbers)]


def source(given: list[dict[str, Any]]) -> bytes:
    return json.dumps({"type": "jsonl", "source": {"type": "file_content", "content": given}}).encode()


async def test_two_runs_over_the_same_rows_are_compared_answer_by_answer(store: Store) -> None:
    old, _ = await worked_off(store, await new_run(store, [EXACT], answered(1, 5, 3, 4)))
    new = await store.runs.create(
        PROJECT, old.eval_id, "new", {}, source([*answered(2, 5, 1), {"item": {"n": 9}, "sample": "7"}]), None, 4, {}
    )
    new, _ = await worked_off(store, new)
    compared, seen = await again(store, new, FakeJudge(larger), testing_criteria=[BETTER], against=old.id)
    assert [(item["results"][0]["score"], item["status"]) for item in seen] == [
        (1.0, "pass"),
        (0.5, "fail"),
        (0.0, "fail"),
        (0.0, "error"),
    ]
    assert seen[3]["results"][0]["error"] == (
        f"there is no sample: {old.id}, which it is compared with, has another item in this row."
    )
    assert seen[0]["sample"]["output"][0]["content"] == "2"
    assert compared.regraded_from == new.id


async def test_a_run_to_compare_with_that_is_none_is_refused(store: Store) -> None:
    run, _ = await worked_off(store, await new_run(store, [EXACT], answered(1)))
    other, _ = await worked_off(
        store, await store.runs.create(PROJECT, run.eval_id, "", {}, source([{"item": {"n": 5}}]), None, 1, {})
    )
    waiting = await store.runs.create(PROJECT, run.eval_id, "", {}, source(answered(1)), None, 1, {})
    eval_ = await find_eval(store, PROJECT, run.eval_id)
    for given, status, told in (
        (run.id, 400, "it is the run itself"),
        ("evalrun_x", 400, 'has no run "evalrun_x"'),
        (7, 400, "expected the id of a run of the same eval"),
        (other.id, 400, "no row of"),
        (waiting.id, 409, "has not ended"),
    ):
        with pytest.raises(ApiError, match=told) as refused:
            await regrade(store, Registry(store.graders.find), Engine(store), PROJECT, eval_, run, {"against": given})
        assert (refused.value.status, refused.value.param) == (status, "against")


async def test_the_new_run_lives_on_when_the_old_one_is_deleted(store: Store) -> None:
    first, _ = await worked_off(store, await new_run(store, [EXACT], rows(3)))
    eval_ = await find_eval(store, PROJECT, first.eval_id)
    made = await regrade(store, Registry(store.graders.find), Engine(store), PROJECT, eval_, first, {})
    await store.runs.delete(PROJECT, first.eval_id, first.id)
    second, seen = await worked_off(store, made)
    assert (second.passed, second.failed, len(seen)) == (2, 1, 3)
    path = store.row_files.path(made.rows_file or "")
    assert path.exists()
    await store.runs.delete(PROJECT, second.eval_id, second.id)
    assert not path.exists()


async def test_an_imported_run_is_graded_again_by_its_own_criteria(store: Store, tmp_path: Path) -> None:
    run = await imported(store, tmp_path)
    second, seen = await again(store, run)
    assert (second.status, second.passed, second.failed, second.imported) == ("completed", 1, 1, None)
    assert [result["name"] for result in seen[0]["results"]] == [hosted.EXACT_ID]
    assert seen[1]["sample"] == hosted.item("evalrun_1", 1, passed=False)["sample"]
    assert json.loads(second.data_source) == hosted.run()["data_source"]
    assert second.warnings is None
    totals = await store.comparison.totals(run, second, (0, 0))
    assert (totals.n, totals.both_passed, totals.both_failed) == (2, 1, 1)


async def test_judges_are_replaced_wherever_they_are_asked(store: Store) -> None:
    models = Models(answering)
    multi = {"type": "multi", "name": "m", "graders": {"a": JUDGE}, "calculate_output": "a"}
    first, _ = await worked_off(store, await new_run(store, [JUDGE, multi], rows(1)), models)
    second, seen = await again(store, first, models, judges={"house/judge": "house/other"})
    assert [prompt.partition(":")[0] for prompt in models.prompts] == ["judge"] * 2 + ["other"] * 2
    assert [result["name"] for result in seen[0]["results"]] == list(first.criteria_counts)
    assert [each["name"] for each in second.criteria or []] == ["judge", "m"]


async def test_a_registered_grader_is_pinned_as_it_is_now(store: Store) -> None:
    registration = Registration(store.graders, Registry(store.graders.find))
    await registration.create(PROJECT, "exact", EXACT, None, None)
    by_key = {"type": "registered", "key": "exact", "name": "by key"}
    first, _ = await worked_off(store, await new_run(store, [EXACT], rows(3)))
    await registration.update(PROJECT, "exact", grader={**EXACT, "reference": "0"})
    second, _ = await again(store, first, testing_criteria=[by_key])
    assert (first.passed, second.passed, second.failed) == (2, 1, 2)
    assert second.criteria is not None
    assert second.criteria[0]["reference"] == "0"


@pytest.mark.parametrize(
    ("body", "param", "words"),
    [
        ({"criteria": []}, "criteria", "unknown. Use: testing_criteria, name, metadata, judges"),
        ({"judges": []}, "judges", "an object"),
        ({"judges": {"a": 1}}, "judges.a", "the name of a model"),
        ({"judges": {"gpt-9": "gpt-10"}}, "judges.gpt-9", "no criterion asks this model. They ask: none"),
        ({"testing_criteria": []}, "testing_criteria", "at least one"),
        ({"testing_criteria": [{"type": "odd"}]}, "testing_criteria[0].type", "odd"),
        ({"name": 5}, "name", "a string"),
        ({"metadata": {"a": 5}}, "metadata.a", "a string"),
    ],
)
async def test_what_is_wrong_with_a_request_is_told_and_nothing_is_left(
    store: Store, body: dict[str, Any], param: str, words: str
) -> None:
    first, _ = await worked_off(store, await new_run(store, [EXACT], rows(1)))
    eval_ = await find_eval(store, PROJECT, first.eval_id)
    with pytest.raises(ApiError, match=words) as refused:
        await regrade(store, Registry(store.graders.find), Engine(store), PROJECT, eval_, first, body)
    assert (refused.value.status, refused.value.param) == (400, param)
    assert not list(store.row_files.folder.glob("rows-*"))
    assert len((await store.runs.list(PROJECT, first.eval_id)).data) == 1


async def test_criteria_that_cannot_run_must_be_replaced_or_dropped(store: Store, tmp_path: Path) -> None:
    odd = {"type": "odd", "name": "odd one", "id": "odd-1"}
    placeholder = {**JUDGE, "name": "judge", "id": "judge-1", "model": "<model>"}
    run = await imported(store, tmp_path, odd, placeholder)
    with pytest.raises(ApiError) as refused:
        await again(store, run)
    assert refused.value.status == 400
    assert refused.value.param == "testing_criteria[1]"
    assert '"odd one" cannot grade here' in refused.value.message
    assert '"judge" cannot grade here' in refused.value.message
    assert "Send testing_criteria without it" in refused.value.message
    with pytest.raises(ApiError) as refused:  # the judge is no longer the problem
        await again(store, run, Models(answering), judges={"<model>": "house/judge"})
    assert '"judge"' not in refused.value.message
    second, _ = await again(store, run, testing_criteria=[hosted.EXACT])
    assert (second.passed, second.failed) == (1, 1)


async def test_a_retired_judge_is_told_of_as_for_other_runs(store: Store, tmp_path: Path) -> None:
    run = await imported(store, tmp_path, {**JUDGE, "id": "judge-1", "model": "o3-mini"})
    eval_ = await find_eval(store, PROJECT, run.eval_id)
    with pytest.raises(ApiError, match=r"gpt-5\.6-sol"):
        await regrade(store, Registry(store.graders.find), Engine(store), PROJECT, eval_, run, {})


async def test_a_run_that_goes_on_and_one_without_rows_cannot_be_graded_again(store: Store) -> None:
    going = await new_run(store, [EXACT], rows(1))
    eval_ = await find_eval(store, PROJECT, going.eval_id)
    with pytest.raises(ApiError, match="has not ended") as refused:
        await regrade(store, Registry(store.graders.find), Engine(store), PROJECT, eval_, going, {})
    assert refused.value.status == 409
    cancelled = await store.runs.cancel(PROJECT, going.eval_id, going.id)
    assert cancelled is not None
    with pytest.raises(ApiError, match="has no rows"):
        await regrade(store, Registry(store.graders.find), Engine(store), PROJECT, eval_, cancelled, {})
    assert not list(store.row_files.folder.glob("rows-*"))


async def test_an_empty_answer_is_still_an_answer_when_it_is_graded_again(store: Store) -> None:
    given = [{"item": {"n": 1}, "sample": {"output_text": ""}}]
    first, _ = await worked_off(store, await new_run(store, [SAYS | {"reference": "Paris"}], given))
    second, (item,) = await again(store, first)
    assert (second.passed, second.failed, second.errored, second.warnings) == (0, 1, 0, first.warnings)
    assert [message["content"] for message in item["sample"]["output"]] == [""]
    assert item["results"][0]["warnings"] == []


async def test_a_row_whose_sample_failed_is_an_error_again_and_no_wrong_answer(store: Store, tmp_path: Path) -> None:
    run = await imported(store, tmp_path)
    sample = {"input": [], "output": [], "error": {"code": "x", "message": "away"}}
    given = three_rows(tmp_path / "a").run(
        hosted.run(), [hosted.item("evalrun_1", 0, status="error", results=[], sample=sample)]
    )
    await load(given.archive, store, PROJECT)
    second, seen = await again(store, run)
    assert (second.passed, second.failed, second.errored) == (0, 0, 1)
    assert seen[0]["results"][0]["error"] == "there is no sample: away"


async def test_images_that_were_lost_are_warned_of(store: Store, tmp_path: Path) -> None:
    sample = {**hosted.item("r", 0)["sample"], "input": [{"role": "user", "content": "<image>u</image>"}]}
    given = three_rows(tmp_path / "a").run(hosted.run(), [hosted.item("evalrun_1", 0, sample=sample)])
    await load(given.archive, store, PROJECT)
    run = await store.runs.get(PROJECT, "eval_1", "evalrun_1")
    assert run is not None
    second, _ = await again(store, run)
    assert second.warnings == {FLATTENED: 1}


def test_calls_of_tools_on_the_way_to_the_answer_are_part_of_the_sample() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    output = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "seen"},
        {"role": "assistant", "content": "done", "tool_calls": None},
    ]
    item, sample, shown, absent = row_of(json.dumps(hosted.item("r", 0, sample={"output": output})).encode())
    assert (item, absent) == ({"answer": "Paris", "n": 0}, None)
    assert sample["choices"][0]["message"] == {"role": "assistant", "content": "done", "tool_calls": [call]}
    assert shown == {"output": output}
