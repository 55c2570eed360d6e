"""Runs of an eval, and their output items. Creating one only stores it; the engine works it off."""

import asyncio
import sys
from functools import partial
from typing import Any, get_args

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.evals.criteria import load_criteria, pinned_criteria
from fairmark.evals.source import InvalidSource, Source, find_file, open_source
from fairmark.server.evals import find_eval, read_metadata, read_name
from fairmark.serving.lists import read_query
from fairmark.serving.wire import (
    answer,
    base_url,
    invalid,
    invalid_grader,
    missing,
    not_found,
    page,
    project,
    read_object,
    state,
    wrong_type,
)
from fairmark.store import Eval, Run, UnknownEval
from fairmark.store.runs import Status
from fairmark.text.messages import Messages

STATUSES: tuple[Status, ...] = get_args(Status)
# What the wire calls a row's status, and what its own prose calls it.
ITEM_STATUSES = {"pass": "pass", "passed": "pass", "fail": "fail", "failed": "fail", "error": "error", "skip": "skip"}


async def create(request: Request) -> Response:
    eval_ = await find_eval(request)
    return answer(run_wire(request, await new_run(request, eval_, await read_object(request))), 201)


async def new_run(request: Request, eval_: Eval, given: dict[str, Any]) -> Run:
    """The run that a body asks for, created; the engine begins with it. Raises ApiError."""
    name, metadata, options = read_name(given) or "", read_metadata(given) or {}, _options(given)
    data_source = given.get("data_source")
    if data_source is None:
        raise missing("data_source", "It takes an object with a type: jsonl, completions, responses.")
    shared = state(request)
    file = await find_file(shared.store, project(request), data_source)
    try:
        source = open_source(data_source, file)
        total = await asyncio.to_thread(source.check)
    except InvalidSource as error:
        raise invalid(str(error), error.path, error.code) from None
    model = data_source.get("model") if source.sampling is not None else None
    of, kept = project(request), jsontext.encode(_shown(data_source, source))
    try:
        pinned = await pinned_criteria(eval_.criteria, partial(shared.registry.expand, of))
    except InvalidGrader as error:  # it was deleted since the eval was created
        raise invalid_grader(error, "testing_criteria") from None
    try:
        run = await shared.store.runs.create(of, eval_.id, name, metadata, kept, model, total, options, pinned)
    except UnknownEval:  # it was deleted just now
        raise not_found("eval", eval_.id) from None
    shared.engine.wake()
    return run


async def retrieve(request: Request) -> Response:
    return answer(run_wire(request, await find_run(request)))


async def cancel(request: Request) -> Response:
    """By both paths; the body, where there is one, is not looked at. A run that has ended stays as it is."""
    found = await find_run(request)
    run = await state(request).store.runs.cancel(project(request), found.eval_id, found.id)
    state(request).engine.cancel(found.id)
    return answer(run_wire(request, run or found))


async def delete(request: Request) -> Response:
    found = await find_run(request)
    await state(request).store.runs.delete(project(request), found.eval_id, found.id)
    state(request).engine.cancel(found.id)
    return answer({"object": "eval.run.deleted", "deleted": True, "run_id": found.id})


async def list_(request: Request) -> Response:
    eval_ = await find_eval(request)
    query = read_query(request, limit=20, order="asc")
    status = query.choice("status", STATUSES, "completed") if query.params.get("status") else None
    store = state(request).store
    found = await store.runs.list(
        project(request), eval_.id, query.limit, query.after, query.order, status, query.before
    )
    return page([(run.id, run_wire(request, run)) for run in found.data], found.has_more)


async def list_items(request: Request) -> Response:
    run = await find_run(request, with_source=False)
    query = read_query(request, limit=20, order="asc")
    status = None
    if query.params.get("status"):
        status = ITEM_STATUSES[query.choice("status", tuple(ITEM_STATUSES), "pass")]
    found = await state(request).store.items.list(run, query.limit, query.after, query.order, status, query.before)
    return page([(item.id, msgspec.Raw(item.body)) for item in found.data], found.has_more)


async def retrieve_item(request: Request) -> Response:
    run = await find_run(request, with_source=False)
    item_id = request.path_params["output_item_id"]
    item = await state(request).store.items.get(run, item_id)
    if item is None:
        raise not_found("output item", item_id)
    return answer(msgspec.Raw(item.body))


async def find_run(request: Request, *, with_source: bool = True) -> Run:
    eval_id, run_id = request.path_params["eval_id"], request.path_params["run_id"]
    run = await state(request).store.runs.get(project(request), eval_id, run_id, with_source=with_source)
    if run is None:
        raise not_found("run", run_id)
    return run


def run_wire(request: Request, run: Run) -> dict[str, Any]:
    counted = run.passed + run.failed + run.errored + run.skipped
    has_results = counted > 0 or run.status == "completed"
    return {
        "object": "eval.run",
        "id": run.id,
        "eval_id": run.eval_id,
        "report_url": f"{base_url(request)}/evals/{run.eval_id}/runs/{run.id}",
        "status": run.status,
        "model": run.model,
        "name": run.name,
        "created_at": run.created_at,
        "result_counts": {
            "total": counted,
            "passed": run.passed,
            "failed": run.failed,
            "errored": run.errored,
            "skipped": run.skipped,
        },
        "per_model_usage": _usage(run) if has_results else None,
        "per_testing_criteria_results": _criteria(run) if has_results else None,
        "data_source": msgspec.Raw(run.data_source),
        "error": run.error,
        "metadata": run.metadata,
        "total_rows": run.total,
        "cost": run.cost,
        **({"graders": _graders(run.criteria)} if run.criteria else {}),
        **run.options,
    }


def _graders(criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Which versions of registered graders a run is graded by."""
    return [
        {"testing_criteria": each.id, **registered}
        for each in load_criteria(criteria)
        if each.spec is not None
        for registered in each.spec.registered
    ]


def _usage(run: Run) -> list[dict[str, Any]]:
    names = ("invocation_count", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens")
    return [
        {"model_name": model, **dict(zip(names, counts, strict=True))} for model, counts in sorted(run.usage.items())
    ]


def _criteria(run: Run) -> list[dict[str, Any]]:
    return [
        {"testing_criteria": criterion, "passed": passed, "failed": failed, "errored": errored, "skipped": skipped}
        for criterion, (passed, failed, errored, skipped) in run.criteria_counts.items()
    ]


def _shown(data_source: dict[str, Any], source: Source) -> dict[str, Any]:
    """The data source as it is kept: its messages in the form that those of criteria have."""
    if source.sampling is None or not isinstance(source.sampling.messages, Messages):
        return data_source
    messages = {**data_source["input_messages"], "template": source.sampling.messages.echo()}
    return {**data_source, "input_messages": messages}


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Extensions of ours: what a run may spend, and how long it may take."""
    options: dict[str, Any] = {}
    budget = given.get("budget")
    if budget is not None:
        if not isinstance(budget, dict):
            raise wrong_type("budget", 'an object such as {"tokens": 100000, "dollars": 5}', budget)
        for name, limit in budget.items():
            if name not in ("tokens", "dollars"):
                raise invalid(f"budget.{name}: unknown. Use: tokens, dollars.", f"budget.{name}", "unknown_parameter")
            _positive(f"budget.{name}", limit)
        options["budget"] = budget
    deadline = given.get("deadline_s")
    if deadline is not None:
        _positive("deadline_s", deadline)
        options["deadline_s"] = deadline
    return options


def _positive(where: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_type(where, "a number", value)
    if not 0 < value <= sys.float_info.max:  # a whole number may be greater
        raise invalid(f"{where}: found {jsontext.describe(value)}. It takes a number above 0.", where)
