"""The calls about runs that the API and the web page share: find one, start one, and how one is shown."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, get_args

import msgspec

from fairmark import jsontext, longjson
from fairmark.errors import ApiError, InvalidGrader, InvalidSource
from fairmark.evals.criteria import load_criteria, pinned_criteria, unrunnable
from fairmark.evals.engine import Engine
from fairmark.evals.eval_calls import imported_wire, read_metadata, read_name
from fairmark.evals.local import local_wire
from fairmark.evals.logged import CopiedLog, copy_logged, is_logged, read_wanted, with_inputs
from fairmark.evals.ready import check_listed, check_ready
from fairmark.evals.source import Sampling, check_type, find_file, open_source, read_model_sampling, unused_fields
from fairmark.refusals import invalid, invalid_grader, missing, not_found, wrong_type
from fairmark.registry.lookup import Registry
from fairmark.store import Eval, Run, Store, UnknownEval
from fairmark.store.evals.notes import OTHERS
from fairmark.store.evals.runs import Status
from fairmark.store.views.columns import Columns
from fairmark.store.views.rows import Outcome
from fairmark.text.messages import Messages

COLUMNS_WITHIN_S = 20.0
"""How long somebody waits for the columns of a run; they are read on all the same."""
STATUSES: tuple[Status, ...] = get_args(Status)
# What the wire calls a row's status, and what its own prose calls it.
ITEM_STATUSES: dict[str, Outcome] = {
    "pass": "pass",
    "passed": "pass",
    "fail": "fail",
    "failed": "fail",
    "error": "error",
    "skip": "skip",
}


async def columns_of(store: Store, run: Run) -> Columns:
    """What a run's rows are chosen by. Raises ApiError where they take too long."""
    try:
        async with asyncio.timeout(COLUMNS_WITHIN_S):
            return await store.columns.of(run)
    except TimeoutError:
        message = "The fields of this run's rows are still being read. Try again in a moment."
        raise ApiError(503, message, code="not_ready") from None


async def find_run(store: Store, project: str, eval_id: str, run_id: str, *, with_source: bool = True) -> Run:
    """Raises ApiError where the eval has none of this id."""
    run = await store.runs.get(project, eval_id, run_id, with_source=with_source)
    if run is None:
        raise not_found("run", run_id)
    return run


async def new_run(
    store: Store,
    registry: Registry,
    engine: Engine,
    project: str,
    eval_: Eval,
    body: dict[str, Any],
    created_by: str | None = None,
) -> Run:
    """The run that a body asks for, created; the engine begins with it. `created_by`: the id of the key that asks.
    Raises ApiError."""
    refuse_unrunnable(eval_.criteria)
    name, metadata, options = read_name(body) or "", read_metadata(body) or {}, _options(body)
    data_source = body.get("data_source")
    if data_source is None:
        raise missing("data_source", "It takes an object with a type: jsonl, completions, responses.")
    try:
        check_type(data_source)
        if is_logged(data_source):
            data_source = with_inputs(data_source)
            read_wanted(data_source["source"], eval_.data_source_config)
            sampling, total = read_model_sampling(data_source), None
        else:
            source = open_source(data_source, await find_file(store, project, data_source))
            sampling, total = source.sampling, await asyncio.to_thread(source.check)
    except InvalidSource as error:
        raise invalid(str(error), error.path, error.code) from None
    model = data_source.get("model") if sampling is not None else None
    kept = await asyncio.to_thread(jsontext.encode, _shown(data_source, sampling))
    try:
        pinned = await pinned_criteria(eval_.criteria, partial(registry.expand, project))
    except InvalidGrader as error:  # it was deleted since the eval was created
        raise invalid_grader(error, "testing_criteria") from None
    criteria = load_criteria(pinned or eval_.criteria)
    await asyncio.to_thread(check_ready, criteria, model, not engine.has_own_judge)
    if not engine.has_own_judge:
        await check_listed(criteria, model)
    await engine.admit(project, total or 0)
    copied = await _copy(store, project, eval_, data_source) if is_logged(data_source) else None
    rows_file, total = (None, total) if copied is None else copied
    try:
        run = await store.runs.create(
            project,
            eval_.id,
            name,
            metadata,
            kept,
            model,
            total,
            options,
            pinned,
            rows_file=rows_file,
            warnings=dict.fromkeys(unused_fields(data_source), total or 0),
            created_by=created_by,
        )
    except BaseException as error:
        if rows_file is not None:
            await store.row_files.delete([rows_file])
        if isinstance(error, UnknownEval):  # it was deleted just now
            raise not_found("eval", eval_.id) from None
        raise
    engine.wake()
    return run


async def _copy(store: Store, project: str, eval_: Eval, data_source: dict[str, Any]) -> CopiedLog:
    try:
        return await copy_logged(store, project, eval_, data_source)
    except InvalidSource as error:
        raise invalid(str(error), error.path, error.code) from None


async def cancel_run(store: Store, engine: Engine, project: str, run: Run) -> Run:
    """The run as it is then. One that has ended stays as it was."""
    cancelled = await store.runs.cancel(project, run.eval_id, run.id)
    engine.cancel(run.id)
    return cancelled or run


async def delete_run(store: Store, engine: Engine, project: str, run: Run) -> None:
    await store.runs.delete(project, run.eval_id, run.id)
    engine.cancel(run.id)


def run_wire(run: Run, base_url: str) -> dict[str, Any]:
    """`base_url`: the address that the client used, for the link back to us."""
    if run.imported is None or run.received is None:
        return own_run_wire(run, base_url)
    shown = longjson.members(run.received)
    shown |= {"id": run.id, "eval_id": run.eval_id, "report_url": _report_url(run, base_url)}
    return {**shown, "warnings": _warnings(run), "imported": imported_wire(run.imported)}


def own_run_wire(run: Run, base_url: str) -> dict[str, Any]:
    counted = run.passed + run.failed + run.errored + run.skipped
    has_results = counted > 0 or run.status == "completed"
    return {
        "object": "eval.run",
        "id": run.id,
        "eval_id": run.eval_id,
        "report_url": _report_url(run, base_url),
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
        "error_reasons": [{"reason": text, "count": count} for text, count in told(run.reasons)],
        "warnings": _warnings(run),
        **({"graders": _graders(run.criteria), "testing_criteria": run.criteria} if run.criteria else {}),
        **({"regraded_from": run.regraded_from} if run.regraded_from else {}),
        **local_wire(run.imported if run.received is None else None),
        **run.options,
    }


def _report_url(run: Run, base_url: str) -> str:
    return f"{base_url}/evals/{run.eval_id}/runs/{run.id}"


def _warnings(run: Run) -> list[dict[str, Any]]:
    return [{"warning": text, "count": count} for text, count in told(run.warnings)]


def refuse_unrunnable(criteria: Sequence[Mapping[str, Any]]) -> None:
    """Raises ApiError that names the criteria that cannot grade here: those of an eval that was made elsewhere."""
    problems = unrunnable(criteria)
    if problems:
        raise invalid_grader(InvalidGrader(problems), "testing_criteria")


MUCH = 0.05
"""A run of which a greater share of rows could not be graded says so before anything else."""


def errs_much(run: Run) -> bool:
    done = run.passed + run.failed + run.errored + run.skipped
    return run.errored > MUCH * done


def told(notes: Mapping[str, int] | None) -> list[tuple[str, int]]:
    """What a run has to say of its rows, the most frequent first, and what is not told apart last."""
    ordered = sorted((notes or {}).items(), key=lambda note: (note[0] == OTHERS, -note[1]))
    return [(text if text != OTHERS else "others", count) for text, count in ordered]


def _graders(criteria: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Which versions of registered graders a run is graded by."""
    return [
        {"testing_criteria": criterion.id, **registered}
        for criterion in load_criteria(criteria)
        if criterion.spec is not None
        for registered in criterion.spec.registered
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


def _shown(data_source: dict[str, Any], sampling: Sampling | None) -> dict[str, Any]:
    """The data source as it is kept: its messages in the form that those of criteria have."""
    if sampling is None or not isinstance(sampling.messages, Messages):
        return data_source
    messages = {**data_source["input_messages"], "template": sampling.messages.echo()}
    return {**data_source, "input_messages": messages}


def _options(body: dict[str, Any]) -> dict[str, Any]:
    """Extensions of ours: what a run may spend, and how long it may take."""
    options: dict[str, Any] = {}
    budget = body.get("budget")
    if budget is not None:
        if not isinstance(budget, dict):
            raise wrong_type("budget", 'an object such as {"tokens": 100000, "dollars": 5}', budget)
        for name, limit in budget.items():
            if name not in ("tokens", "dollars"):
                raise invalid(f"budget.{name}: unknown. Use: tokens, dollars.", f"budget.{name}", "unknown_parameter")
            _positive(f"budget.{name}", limit)
        options["budget"] = budget
    deadline = body.get("deadline_s")
    if deadline is not None:
        _positive("deadline_s", deadline)
        options["deadline_s"] = deadline
    return options


def _positive(where: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise wrong_type(where, "a number", value)
    if not 0 < value <= sys.float_info.max:  # a whole number may be greater
        raise invalid(f"{where}: found {jsontext.describe(value)}. It takes a number above 0.", where)
