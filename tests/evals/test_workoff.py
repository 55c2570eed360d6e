"""One run, worked off: every row once, whatever its criteria, models, budget and deadline do."""

import asyncio
import gc
import json
import weakref
from collections.abc import Sequence
from typing import Any

import pytest

from fairmark.evals import workoff
from fairmark.evals.flight import Flight
from fairmark.evals.sampling import Sampled
from fairmark.judges.fake import FakeAnswer
from fairmark.longjson import LONG
from fairmark.settings import settings
from fairmark.store import Run, Store
from tests import kinds
from tests.evals.working import (
    EXACT,
    GOOD,
    JUDGE,
    PROJECT,
    SAMPLED,
    Models,
    check_counts,
    ended,
    has_items,
    items,
    new_file,
    new_run,
    python,
    rows,
    student_and_judge,
    until,
    worked_off,
    working,
)

UNCOMPILABLE = {"type": "python", "name": "broken", "source": "def grade(sample item)"}

COUNTS = "def grade(sample, item):\n    return len(item['deep']['list']) / 2_500\n"

MULTI = {
    "type": "multi",
    "name": "multi",
    "graders": {"exact": EXACT, "n": {**EXACT, "input": "{{ item.n }}"}},
    "calculate_output": "(exact + n) / 2",
}

SAYS = {**EXACT, "name": "says", "input": "{{ sample.output_text }}", "reference": "1"}


@pytest.mark.on_both
async def test_every_row_gets_one_item_with_one_result_for_each_criterion(store: Store) -> None:
    run = await new_run(store, [EXACT, {**EXACT, "name": "other", "reference": "0"}, MULTI], rows(700))
    found, seen = await worked_off(store, run)
    assert (found.status, found.error, found.passed, found.failed) == ("completed", None, 0, 700)
    check_counts(found, seen, 700)
    assert list(found.criteria_counts.values()) == [[350, 350, 0, 0], [350, 350, 0, 0], [351, 349, 0, 0]]
    assert {tuple(item) for item in seen} == {tuple(seen[0])}
    keys = tuple(seen[0]["results"][0])
    assert {tuple(map(tuple, item["results"])) for item in seen} == {(keys, keys, keys)}
    assert {type(result["passed"]) for item in seen for result in item["results"]} == {bool}
    assert seen[3]["datasource_item"] == {"a": "0", "n": 3}
    assert [result["name"] for result in seen[0]["results"]] == list(found.criteria_counts)


async def test_the_criteria_of_a_row_are_asked_side_by_side(store: Store) -> None:
    with kinds.installed():  # two of these finish only if both are under way at once
        criteria = [{"type": "meeting", "name": name, "pass_threshold": 1} for name in ("one", "other")]
        found, seen = await worked_off(store, await new_run(store, criteria, rows(1)))
    assert [result["score"] for result in seen[0]["results"]] == [1.0, 1.0]
    check_counts(found, seen, 1)


async def test_a_row_passes_fails_or_is_an_error_by_its_criteria(store: Store) -> None:
    raising = python("return 1 / item['n']", "raising")
    given: list[dict[str, Any]] = [
        {"item": {"a": "1", "n": 1}},
        {"item": {"a": "0", "n": 1}},
        {"item": {"a": "1", "n": 0}},
        {"item": {}},
    ]
    run = await new_run(store, [EXACT, raising], given)
    found, seen = await worked_off(store, run)
    assert [item["status"] for item in seen] == ["pass", "fail", "error", "error"]
    assert [[result["passed"] for result in item["results"]] for item in seen] == [
        [True, True],
        [False, True],
        [True, False],
        [False, False],
    ]
    assert list(found.criteria_counts.values()) == [[2, 1, 1, 0], [2, 0, 2, 0]]
    assert "ZeroDivisionError" in seen[2]["results"][1]["error"]
    assert "absent" not in seen[2]["results"][1]["error"]
    check_counts(found, seen, 4)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise ValueError('no')", "ValueError: no"),
        ("import sys; sys.exit()", "SystemExit"),
        ("return again()", "RecursionError"),
        ("import surely_not_installed", "No module named 'surely_not_installed'"),
    ],
)
async def test_a_graders_own_code_that_fails_is_an_error_and_no_answer(store: Store, source: str, reason: str) -> None:
    begin = "def again(*args):\n    return again(*args)\n\n\n"
    criteria = [
        {"type": "python", "name": "python", "source": f"{begin}def grade(sample, item):\n    {source}\n"},
        {"type": "function", "name": "function", "source": f"{begin}async def grade(thread):\n    {source}\n"},
    ]
    found, seen = await worked_off(store, await new_run(store, criteria, rows(2)))
    assert (found.passed, found.failed, found.errored) == (0, 0, 2)
    assert list(found.criteria_counts.values()) == [[0, 0, 2, 0]] * 2
    for result in (result for item in seen for result in item["results"]):
        assert (result["status"], result["score"], result["passed"]) == ("error", 0.0, False)
        assert reason in result["error"]


async def test_python_that_does_not_compile_fails_every_row_with_score_0(store: Store) -> None:
    found, seen = await worked_off(store, await new_run(store, [EXACT, UNCOMPILABLE], rows(4)))
    assert (found.status, found.failed) == ("completed", 4)
    assert [[item["results"][1][key] for key in ("score", "passed", "status")] for item in seen] == [
        [0.0, False, "graded"]
    ] * 4
    assert "not Python" in seen[0]["results"][1]["error"]
    check_counts(found, seen, 4)


@pytest.mark.parametrize("fault", ["server_error", "timeout", "refusal", "empty"])
async def test_a_judge_that_fails_makes_errors_and_the_run_completes(store: Store, fault: Any) -> None:
    models = Models(FakeAnswer(fault=fault))
    found, seen = await worked_off(store, await new_run(store, [EXACT, JUDGE], rows(40)), models)
    assert (found.status, found.errored) == ("completed", 40)
    assert seen[0]["results"][1]["sample"]["error"]["message"]
    check_counts(found, seen, 40)


async def test_a_judge_that_fails_on_one_row_leaves_the_others_alone(store: Store) -> None:
    def script(messages: Any) -> Any:
        return FakeAnswer(fault="server_error") if " 7? " in messages[0]["content"] else 1.0

    asks_n = {**JUDGE, "input": [{"role": "user", "content": "How good is {{ item.n }}? Well?"}]}
    found, seen = await worked_off(store, await new_run(store, [asks_n], rows(40)), Models(script))
    assert [item["datasource_item_id"] for item in seen if item["status"] == "error"] == [7]
    assert (found.passed, found.errored) == (39, 1)


@pytest.mark.parametrize("sample", [5, {"output_text": 5}, ["x"]])
async def test_a_sample_that_is_none_is_an_error_of_its_row(store: Store, sample: Any) -> None:
    run = await new_run(store, [EXACT, SAYS], [{"item": {"a": "1"}, "sample": "1"}, {"item": {}, "sample": sample}])
    found, seen = await worked_off(store, run)
    assert [item["status"] for item in seen] == ["pass", "error"]
    assert "sample" in seen[1]["results"][0]["error"]
    check_counts(found, seen, 2)


@pytest.mark.on_both
async def test_texts_that_no_database_takes_as_text_come_back_as_they_were(store: Store) -> None:
    item = {"a": "half an emoji \ud83d, a NUL \0, ünïcode"}
    _, seen = await worked_off(store, await new_run(store, [EXACT], [{"item": item}]))
    assert seen[0]["datasource_item"] == item


async def test_rows_of_a_csv_file_are_graded(store: Store) -> None:
    run = await new_run(store, [EXACT], await new_file(store, b"a,b\n1,x\n0,y\n", "rows.csv"))
    _, seen = await worked_off(store, run)
    assert [(item["status"], item["datasource_item"]) for item in seen] == [
        ("pass", {"a": "1", "b": "x"}),
        ("fail", {"a": "0", "b": "y"}),
    ]


LONG_LIST = [{"n": number, "b": ["x" * 200]} for number in range(2_500)]
IN_LONG = {**EXACT, "name": "in long", "input": "{{ item.deep.list[2499].n }}", "reference": "{{ item.a }}"}
LONG_ROWS = [{"item": {"a": right, "deep": {"list": LONG_LIST}}} for right in ("2499", "1")]


@pytest.mark.parametrize("form", ["inline", "lines", "array"])
async def test_long_rows_are_graded_and_stored_as_short_ones_are(store: Store, form: str) -> None:
    assert len(json.dumps(LONG_LIST)) > LONG
    source: Any = LONG_ROWS
    if form != "inline":
        text = json.dumps(LONG_ROWS) if form == "array" else "".join(json.dumps(row) + "\n" for row in LONG_ROWS)
        source = await new_file(store, text.encode())
    counting = {"type": "python", "name": "counts", "source": COUNTS, "pass_threshold": 0.5}
    judged = {**JUDGE, "input": [{"role": "user", "content": "How good is {{ item.deep.list[7].n }}? {{ item.a }}"}]}
    run = await new_run(store, [IN_LONG, counting, judged], source)
    found, seen = await worked_off(store, run, Models(student_and_judge))
    assert (found.status, found.error) == ("completed", None)
    assert [item["datasource_item"] for item in seen] == [row["item"] for row in LONG_ROWS]
    assert [[result["status"] for result in item["results"]] for item in seen] == [["graded"] * 3] * 2
    assert [[result["score"] for result in item["results"][:2]] for item in seen] == [[1.0, 1.0], [0.0, 1.0]]
    assert "How good is 7? 2499" in seen[0]["results"][2]["sample"]["input"][0]["content"]


@pytest.mark.parametrize("form", ["inline", "lines"])
async def test_what_a_long_sample_holds_is_seen_by_graders(store: Store, form: str) -> None:
    tokens = [{"token": str(number), "logprob": -0.5, "more": "x" * 200} for number in range(2_500)]
    assert len(json.dumps(tokens)) > LONG
    message = {"role": "assistant", "content": "long"}
    given: Any = [
        {"item": {"a": "2499"}, "sample": {"choices": [{"message": message, "logprobs": {"content": tokens}}]}}
    ]
    if form == "lines":
        given = await new_file(store, json.dumps(given[0]).encode() + b"\n")
    last = {**EXACT, "input": "{{ sample.choices[0].logprobs.content[2499].token }}", "reference": "{{ item.a }}"}
    _, seen = await worked_off(store, await new_run(store, [last], given))
    assert [(result["status"], result["score"]) for result in seen[0]["results"]] == [("graded", 1.0)]


async def test_messages_in_a_long_row_are_sampled(store: Store) -> None:
    said = [{"role": "user", "content": f"Say {number}{' ' * 200}"} for number in range(2_500)]
    assert len(json.dumps(said)) > LONG
    sampling = {**SAMPLED, "input_messages": {"type": "item_reference", "item_reference": "item.messages"}}
    models = Models(student_and_judge)
    found, seen = await worked_off(
        store, await new_run(store, [SAYS], [{"item": {"messages": said}}], sampling), models
    )
    assert found.errored == 0
    assert len(seen[0]["sample"]["input"]) == 2_500


async def test_a_run_fails_where_its_file_is_gone_and_only_then(store: Store) -> None:
    source = await new_file(store, b'{"a": "1"}\n')
    run = await new_run(store, [EXACT], source)
    await store.files.delete(PROJECT, source["id"])
    found, seen = await worked_off(store, run)
    assert (found.status, seen) == ("failed", [])
    assert found.error is not None
    assert found.error["code"] == "file_not_found"
    assert source["id"] in found.error["message"]


async def test_a_run_fails_where_the_content_of_its_file_is_gone_and_tells_no_path(store: Store) -> None:
    source = await new_file(store, b'{"a": "1"}\n')
    run = await new_run(store, [EXACT], source)
    store.files.content(source["id"]).unlink()
    found, _ = await worked_off(store, run)
    assert found.status == "failed"
    assert str(store.files.folder) not in str(found.error)


async def test_samples_are_made_and_graded(store: Store) -> None:
    run = await new_run(store, [SAYS, JUDGE], rows(40), SAMPLED)
    found, seen = await worked_off(store, run, Models(student_and_judge))
    assert (found.status, found.model, found.passed, found.failed) == ("completed", "house/student", 20, 20)
    assert [item["sample"]["output"][0]["content"] for item in seen] == ["1", "0"] * 20
    assert seen[0]["sample"]["input"][0]["content"] == "Say 1"
    assert "How good is 1? 1" in seen[0]["results"][1]["sample"]["input"][0]["content"]
    check_counts(found, seen, 40)


async def test_usage_covers_the_model_under_test_and_the_judges(store: Store) -> None:
    found, _ = await worked_off(
        store, await new_run(store, [SAYS, JUDGE], rows(40), SAMPLED), Models(student_and_judge)
    )
    assert len(found.usage) == 2
    assert sorted(found.usage.values()) == [[40, 4000, 800, 4800, 0]] * 2
    assert found.cost == pytest.approx(9600 / 1_000_000)


async def test_a_model_that_cannot_be_sampled_makes_errors_of_rows(store: Store) -> None:
    def script(messages: Any) -> Any:
        return FakeAnswer(fault="server_error") if messages[0]["content"] == "Say 0" else GOOD

    found, seen = await worked_off(store, await new_run(store, [SAYS, JUDGE], rows(10), SAMPLED), Models(script))
    assert [item["status"] for item in seen] == ["fail", "error"] * 5
    assert [item["sample"]["error"] is None for item in seen] == [True, False] * 5
    assert seen[1]["sample"]["error"]["code"] == "model_grader_server_error"
    assert "there is no sample" in seen[1]["results"][0]["error"]
    assert found.status == "completed"
    check_counts(found, seen, 10)


async def test_a_row_whose_messages_are_missing_is_an_error_and_nobody_is_asked(store: Store) -> None:
    sampling = {**SAMPLED, "input_messages": {"type": "item_reference", "item_reference": "item.chat"}}
    given: list[dict[str, Any]] = [
        {"item": {"chat": "Say 1"}},
        {"item": {}},
        {"item": {"chat": [{"role": "user", "content": "Say 1"}]}},
    ]
    models = Models(student_and_judge)
    _, seen = await worked_off(store, await new_run(store, [SAYS], given, sampling), models)
    assert [item["status"] for item in seen] == ["pass", "error", "pass"]
    assert seen[1]["sample"]["error"]["code"] == "invalid_variable_error"
    assert len(models.prompts) == 2


async def test_a_sample_is_stored_before_it_is_graded(store: Store) -> None:
    models = Models(student_and_judge)
    models.hold("judge")
    run = await new_run(store, [SAYS, JUDGE], [{"item": {"a": str(n)}} for n in range(20)], SAMPLED)
    async with working(store, models):
        await until(lambda: models.waiting == 20)
        assert len(await store.samples.get(run, 0, 19)) == 20
        assert await items(store, run) == []


async def test_questions_wait_when_storing_their_answers_falls_behind(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, add, free = Models(student_and_judge), store.samples.add, asyncio.Event()
    batches: list[int] = []

    async def held(run: Run, bodies: Sequence[tuple[int, bytes]]) -> bool:
        if bodies:
            batches.append(len(bodies))
            await free.wait()
        return await add(run, bodies)

    monkeypatch.setattr(store.samples, "add", held)
    run = await new_run(store, [EXACT], rows(600), SAMPLED)
    most = settings().judge_concurrency + workoff.UNSTORED_AT_MOST
    async with working(store, models):
        await until(lambda: len(models.prompts) >= most and batches)
        for _ in range(1000):  # turns enough to ask more
            await asyncio.sleep(0)
        assert len(models.prompts) == most
        assert len(batches) == 1  # what comes meanwhile is stored together
        free.set()
        found = await ended(store, run)
    assert found.passed + found.failed == 600
    assert len(models.prompts) == 600
    assert sum(batches) == 600


async def test_sampling_and_grading_overlap(store: Store) -> None:
    """The student's later answers come only once the judge is asked, and the judge's only once those are asked for."""

    class Lazy(Models):
        async def post(self, model: Any, path: Any, body: Any, tab: Any) -> dict[str, Any]:
            text = body["messages"][0]["content"]
            self.prompts.append(text)
            if "Say late" in text:
                await until(lambda: any("How good" in each for each in self.prompts), 10)
            elif "How good" in text:
                await until(lambda: any("Say late" in each for each in self.prompts), 10)
            return await super().post(model, path, body, tab)

    given = [{"item": {"a": f"{n}" if n < 32 else f"late {n}"}} for n in range(100)]
    found, seen = await worked_off(store, await new_run(store, [JUDGE], given, SAMPLED), Lazy(student_and_judge))
    assert (found.status, found.passed) == ("completed", 100)
    check_counts(found, seen, 100)


@pytest.mark.on_both
async def test_what_is_stored_is_neither_sampled_nor_graded_again(store: Store) -> None:
    models = Models(student_and_judge)
    unlike = [{"item": {"a": str(n)}} for n in range(200)]
    models.hold("judge")
    run = await new_run(store, [JUDGE], unlike, SAMPLED)

    async def all_sampled() -> bool:
        return len(await store.samples.get(run, 0, 199)) == 200

    async with working(store, models):
        await until(all_sampled)
    assert sorted(models.asked_of("student")) == sorted(f"Say {n}" for n in range(200))
    # The second engine grades a part, the third the rest.
    models.prompts.clear()
    models.let_go("judge")

    class Slowing(Models):
        async def post(self, model: Any, path: Any, body: Any, tab: Any) -> dict[str, Any]:
            if len(self.prompts) >= 100:
                self.hold("judge")
            return await super().post(model, path, body, tab)

    slowing = Slowing(student_and_judge)
    async with working(store, slowing):
        await until(lambda: slowing.waiting > 0)
        await until(lambda: has_items(store, run))
    done = {item["datasource_item"]["a"] for item in await items(store, run)}
    assert 0 < len(done) < 200
    found, seen = await worked_off(store, run, models)
    assert slowing.asked_of("student") == models.asked_of("student") == []
    asked = [prompt.removeprefix("How good is ").split("?")[0] for prompt in models.asked_of("judge")]
    assert set(asked) == {str(n) for n in range(200)} - done
    assert len(asked) == len(set(asked))
    assert sum(usage[0] for usage in found.usage.values()) == 400
    check_counts(found, seen, 200)


async def test_a_budget_leaves_the_rest_out_and_the_run_completes(store: Store) -> None:
    unlike = [{"item": {"a": str(n)}} for n in range(100)]
    run = await new_run(store, [EXACT, JUDGE], unlike, budget={"tokens": 1200})
    found, seen = await worked_off(store, run, Models(1.0))
    assert (found.status, found.skipped) == ("completed", 90)
    assert sum(usage[3] for usage in found.usage.values()) == 1200
    skipped = [item for item in seen if item["status"] == "skip"]
    assert {item["results"][1]["status"] for item in skipped} == {"skipped"}
    assert "budget of 1,200 tokens" in skipped[0]["results"][1]["error"]
    assert {item["results"][0]["status"] for item in seen} == {"graded"}
    check_counts(found, seen, 100)


async def test_a_budget_in_dollars_is_for_sampling_too(store: Store) -> None:
    unlike = [{"item": {"a": str(n)}} for n in range(100)]
    run = await new_run(store, [SAYS], unlike, SAMPLED, budget={"dollars": 0.0012})
    found, seen = await worked_off(store, run, Models(student_and_judge))
    assert (found.status, found.skipped) == ("completed", 90)
    assert found.cost == pytest.approx(0.0012)
    check_counts(found, seen, 100)


async def test_a_budget_counts_what_was_spent_before_a_stop(store: Store) -> None:
    """The last ten rows are sampled, and not graded; the next engine must not buy for the first rows again."""
    unlike = [{"item": {"a": str(n)}} for n in range(100)]
    run = await new_run(store, [JUDGE], unlike, SAMPLED, budget={"tokens": 1200})
    bought = Sampled([], {"choices": [{"message": {"content": "1"}}], "model": "student"}, [100, 20, 120, 0], 0.1, 1)
    claimed = await store.runs.claim()
    assert claimed is not None
    assert await store.runs.start(claimed)
    assert await store.samples.add(claimed, [(index, bought.encode()) for index in range(90, 100)])
    await store.runs.release(claimed)
    models = Models(student_and_judge)
    found, seen = await worked_off(store, run, models)
    assert models.prompts == []
    assert (found.status, found.skipped) == ("completed", 100)
    assert found.usage == {"student": [10, 1000, 200, 1200, 0]}
    check_counts(found, seen, 100)


async def test_a_deadline_leaves_the_rest_out_and_the_run_completes(store: Store) -> None:
    class Hanging(Models):
        async def post(self, model: Any, path: Any, body: Any, tab: Any) -> dict[str, Any]:
            if len(self.prompts) >= 64:
                self.hold("judge")
            return await super().post(model, path, body, tab)

    unlike = [{"item": {"a": str(n)}} for n in range(200)]
    run = await new_run(store, [JUDGE], unlike, deadline_s=3)
    found, seen = await worked_off(store, run, Hanging(1.0))
    assert (found.status, found.passed, found.skipped) == ("completed", 64, 136)
    assert "deadline of 3 s" in seen[-1]["results"][0]["error"]
    check_counts(found, seen, 200)


async def test_a_deadline_that_has_passed_counts_and_shows_the_samples_that_were_bought(store: Store) -> None:
    models = Models(student_and_judge)
    models.hold("judge")
    run = await new_run(store, [JUDGE], rows(10), SAMPLED, deadline_s=2)
    found, seen = await worked_off(store, run, models)
    assert (found.status, found.skipped) == ("completed", 10)
    assert [usage[0] for usage in found.usage.values()] == [10]
    assert seen[0]["sample"]["output"][0]["content"] == "1"


async def test_that_a_run_is_gone_is_noted_where_nobody_waits_for_its_samples_any_more(store: Store) -> None:
    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["message"]))
    run = await new_run(store, [SAYS], rows(1), SAMPLED)

    async def give_up() -> "weakref.ref[asyncio.Task[None]]":
        work = await workoff.RunWork.begin(store, run, Models(student_and_judge), lambda results: None, Flight())
        waiting = asyncio.create_task(work._keep([(0, b"said")]))
        await until(lambda: work._keeping is not None)
        keeping = work._keeping
        assert keeping is not None
        waiting.cancel()  # as the chunk is that the sample was for
        await store.runs.delete(PROJECT, run.eval_id, run.id)
        await asyncio.wait([waiting, keeping])
        return weakref.ref(keeping)

    keeping = await give_up()
    gc.collect()
    assert keeping() is None  # a task that nobody has asked for its exception complains as it goes
    assert told == []
