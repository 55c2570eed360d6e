"""Runs in a store, worked off by an engine in this process."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from fairmark import jsontext
from fairmark.context import Elsewhere
from fairmark.evals.criteria import new_criteria
from fairmark.evals.engine import Engine
from fairmark.evals.source import find_file, open_source
from fairmark.judges.base import Judge
from fairmark.judges.client import Tab
from fairmark.judges.fake import FakeAnswer, FakeJudge, Script
from fairmark.judges.models import Model
from fairmark.registry.lookup import Registry
from fairmark.store import Eval, Run, Store, ids

PROJECT = "default"
EXACT = {"type": "string_check", "name": "exact", "input": "{{ item.a }}", "reference": "1", "operation": "eq"}
JUDGE = {
    "type": "score_model",
    "name": "judge",
    "model": "house/judge",
    "input": [{"role": "user", "content": "How good is {{ item.a }}? {{ sample.output_text }}"}],
}
SAMPLED = {
    "type": "completions",
    "model": "house/student",
    "input_messages": {"type": "template", "template": [{"role": "user", "content": "Say {{ item.a }}"}]},
}
GOOD = FakeAnswer('{"steps": [], "result": 1}')
COUNTERS = {"pass": 0, "fail": 1, "error": 2, "skip": 3}


class Models(FakeJudge):
    """The fake, whose models may be held: those asked while they are wait until they are let go."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.held: dict[str, asyncio.Event] = {}
        self.prompts: list[str] = []
        """The first message of everything that was asked, by whom: `student: Say 1`."""
        self.waiting = 0

    def hold(self, model: str) -> None:
        self.held[model] = asyncio.Event()

    def let_go(self, model: str) -> None:
        self.held.pop(model).set()

    async def post(self, model: Model, path: str, body: dict[str, Any], tab: Tab) -> dict[str, Any]:
        name = model.name.removeprefix("house/")
        self.prompts.append(f"{name}: {body['messages'][0]['content']}")
        if name in self.held:
            self.waiting += 1
            try:
                await self.held[name].wait()
            finally:
                self.waiting -= 1
        return await super().post(model, path, body, tab)

    def asked_of(self, model: str) -> list[str]:
        return [prompt.removeprefix(f"{model}: ") for prompt in self.prompts if prompt.startswith(f"{model}: ")]


def student_and_judge(messages: Any) -> FakeAnswer:
    """The student says what it is told to; the judge finds everything good."""
    text = messages[0]["content"]
    return FakeAnswer(text.removeprefix("Say ")) if text.startswith("Say ") else GOOD


def python(body: str, name: str = "python", **more: Any) -> dict[str, Any]:
    return {"type": "python", "name": name, "source": f"def grade(sample, item):\n    {body}\n", **more}


def rows(count: int) -> list[dict[str, Any]]:
    """The item of every second row is 1, the others are 0."""
    return [{"item": {"a": str((index + 1) % 2), "n": index}} for index in range(count)]


async def new_eval(store: Store, *criteria: dict[str, Any], project: str = PROJECT) -> Eval:
    expand = partial(Registry(store.graders.find).expand, project)
    made = await new_criteria(list(criteria), expand)
    return await store.evals.create(project, "an eval", {}, {"type": "custom"}, made)


async def new_run(
    store: Store,
    criteria: Sequence[dict[str, Any]],
    given: list[dict[str, Any]] | dict[str, Any],
    sampling: dict[str, Any] | None = None,
    project: str = PROJECT,
    **options: Any,
) -> Run:
    """A queued run. `given` are its rows, or a whole `source`; `sampling` is the rest of its data source."""
    made = await new_eval(store, *criteria, project=project)
    inline = given if isinstance(given, dict) else {"type": "file_content", "content": given}
    data_source = {"type": "jsonl", **(sampling or {}), "source": inline}
    source = open_source(data_source, await find_file(store, project, data_source))
    model = source.sampling.model if source.sampling else None
    kept = jsontext.encode(data_source)
    return await store.runs.create(project, made.id, "", {}, kept, model, source.check(), options)


async def new_file(store: Store, content: bytes, name: str = "rows.jsonl") -> dict[str, Any]:
    """A source that is this file."""
    file_id = ids.new_file()
    store.files.folder.mkdir(exist_ok=True)
    store.files.content(file_id).write_bytes(content)
    await store.files.create(PROJECT, file_id, name, "evals", len(content), None)
    return {"type": "file_id", "id": file_id}


@asynccontextmanager
async def working(
    store: Store, judge: Judge | None = None, elsewhere: Elsewhere | None = None
) -> AsyncIterator[Engine]:
    engine = Engine(store, judge, elsewhere=elsewhere)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()
        # What is being written ends by itself; a server waits for it when it closes its store.
        await until(lambda: not store._database._under_way)


async def now(store: Store, run: Run) -> Run:
    found = await store.runs.get(run.project, run.eval_id, run.id)
    assert found is not None
    return found


async def ended(store: Store, run: Run, within_s: float = 60) -> Run:
    until, pause_s = time.monotonic() + within_s, 0.005
    while (found := await now(store, run)).status in ("queued", "in_progress"):
        assert time.monotonic() < until, f"after {within_s} s: {found}"
        await asyncio.sleep(pause_s)
        pause_s = min(1.5 * pause_s, 0.05)
    return found


async def worked_off(store: Store, run: Run, judge: Judge | None = None) -> tuple[Run, list[dict[str, Any]]]:
    """The run and its items, once it has ended."""
    async with working(store, judge):
        found = await ended(store, run)
    return found, await items(store, run)


async def items(store: Store, run: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after = None
    while True:
        page = await store.items.list(run, 1000, after)
        found += [json.loads(item.body) for item in page.data]
        if not page.has_more:
            return found
        after = page.data[-1].id


async def has_items(store: Store, run: Run) -> bool:
    return bool((await store.items.list(run, 1)).data)


async def until(condition: Any, within_s: float = 30) -> None:
    """Waits for a condition: a function, or a coroutine function."""
    end = time.monotonic() + within_s
    while True:
        found = condition()
        if await found if asyncio.iscoroutine(found) else found:
            return
        assert time.monotonic() < end, f"still not after {within_s} s"
        await asyncio.sleep(0.01)


def recount(found: Sequence[dict[str, Any]]) -> tuple[Counter[str], dict[str, list[int]]]:
    """How many items are of each status; and a criterion's four counters, from the items alone."""
    by_criterion: dict[str, list[int]] = {}
    for item in found:
        for result in item["results"]:
            outcome = {"error": "error", "skipped": "skip"}.get(
                result["status"], "pass" if result["passed"] else "fail"
            )
            by_criterion.setdefault(result["name"], [0] * 4)[COUNTERS[outcome]] += 1
    return Counter(item["status"] for item in found), by_criterion


def check_counts(run: Run, found: Sequence[dict[str, Any]], total: int) -> None:
    """Every row exactly once, and counters that are what the items say."""
    assert [item["datasource_item_id"] for item in found] == list(range(total))
    statuses, by_criterion = recount(found)
    assert (run.passed, run.failed, run.errored, run.skipped) == tuple(statuses[name] for name in COUNTERS)
    assert run.criteria_counts == by_criterion
