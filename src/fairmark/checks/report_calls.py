"""The calls about hacking reports that the API and the web page share: plan one, begin one, show."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from fairmark.checks import fields
from fairmark.checks.check_calls import check_ready, check_room, expanded, times_wire
from fairmark.checks.engine import CheckEngine
from fairmark.checks.requests import MOST_RUNS, ReportRequest, read_report, stored
from fairmark.checks.sources import LabelledSource, find_labelled
from fairmark.checks.steps import MOST_ROWS, completed_runs, criterion_named, is_under_way, rows_of
from fairmark.evals.eval_calls import find_eval
from fairmark.evals.regrade import row_of
from fairmark.refusals import invalid
from fairmark.registry.lookup import Registry
from fairmark.row import chars
from fairmark.spec import GraderSpec
from fairmark.store import Eval, Run, Store, StoredCheck
from fairmark.trust.plan import dollars_of, questions_a_row, tokens_of
from fairmark.trust.subject import models_in, sources


class PlannedReport(NamedTuple):
    """What is asked for, checked, and what it will take at most."""

    request: ReportRequest
    plan: dict[str, Any]
    content: bytes | None

    def wire(self) -> dict[str, Any]:
        request = self.request
        return {
            "object": "hacking_report.plan",
            "eval_id": request.eval_id,
            "runs": request.runs,
            "criterion": request.criterion_name,
            "plan": self.plan,
        }


async def plan_report(
    store: Store, registry: Registry, engine: CheckEngine, project: str, body: Mapping[str, Any]
) -> PlannedReport:
    """Raises ApiError."""
    read = read_report(body)
    fields.flag(body, "dry_run")
    eval_ = await find_eval(store, project, read["eval_id"])
    runs = await _runs(store, eval_, read.pop("runs"))
    for name, values in read["series"].items():
        if len(values) != len(runs):
            where = f"series.{name}"
            raise invalid(f"{where}: found {len(values)} numbers, and there are {len(runs)} runs.", where)
    criterion = criterion_named(runs[-1].criteria or eval_.criteria, read.pop("criterion"))
    gold, spec, source = await _gold(store, registry, engine, project, read.pop("gold") or {})
    request = ReportRequest(
        **read,
        runs=[run.id for run in runs],
        criterion=str(criterion["id"]),
        criterion_name=str(criterion["name"]),
        gold=gold,
        rows_from=None if source is None else source.name,
        file_id=None if source is None else source.file_id,
    )
    plan: dict[str, Any] = {"calls": 0, "tokens": 0, "dollars": 0.0, "gold": None if source is None else "labels"}
    if spec is not None:
        plan = {**await _price(store, spec, runs, request.items), "gold": "grader"}
    return PlannedReport(request, plan, None if source is None else source.content)


async def _price(store: Store, spec: GraderSpec, runs: Sequence[Run], items: int) -> dict[str, Any]:
    """What a gold grader takes at most, by the length of the first rows."""
    calls = sum(min(items, rows_of(run)) for run in runs) * questions_a_row(spec)
    first = await store.rows.chunk(runs[0], None, -1)

    def price() -> dict[str, Any]:
        rows = [row_of(item.body) for item in first[:items]]
        sizes = [chars(item) + chars(sample) for item, sample, _, _ in rows]
        own = sum(map(len, sources(spec)))
        tokens = calls * tokens_of(own + sum(sizes) / max(1, len(sizes)))
        return {"calls": calls, "tokens": tokens, "dollars": dollars_of(models_in(spec), tokens, calls)}

    return await asyncio.to_thread(price)


async def begin_report(
    store: Store, engine: CheckEngine, project: str, planned: PlannedReport, created_by: str | None = None
) -> StoredCheck:
    """The report, created; the engine begins with it. Raises ApiError."""
    await check_room(store, engine, project)
    made = await store.checks.create(
        project,
        "hacking_report",
        stored(planned.request),
        planned.plan,
        planned.content,
        eval_id=planned.request.eval_id,
        created_by=created_by,
    )
    engine.wake()
    return made


def report_wire(check: StoredCheck, report: bytes | None = None) -> dict[str, Any]:
    """`report`: as it is stored, which lists leave out."""
    request = check.request
    return {
        "object": "hacking_report",
        "id": check.id,
        "status": check.status,
        **{name: request.get(name) for name in ("name", "eval_id", "runs", "file_id", "items", "budget")},
        "criterion": request["criterion_name"],
        "plan": check.plan,
        **times_wire(check),
        "state": check.grade,
        **({} if report is None else {"report": msgspec.Raw(report)}),
    }


async def _runs(store: Store, eval_: Eval, wanted: list[str] | None) -> list[Run]:
    if wanted is None:
        runs = await completed_runs(store, eval_, MOST_RUNS)
        if len(runs) < 2:
            raise invalid(
                f"runs: the eval has {len(runs)} that are completed and have rows. A series takes two or more.", "runs"
            )
    else:
        runs = [await _run(store, eval_, run_id) for run_id in wanted]
    total = sum(map(rows_of, runs))
    if total > MOST_ROWS:
        raise invalid(f"runs: they have {total:,} rows together. A report takes at most {MOST_ROWS:,}.", "runs")
    return runs


async def _run(store: Store, eval_: Eval, run_id: str) -> Run:
    run = await store.runs.get(eval_.project, eval_.id, run_id, with_source=False)
    if run is None:
        raise invalid(f"runs: the eval has no run {run_id}.", "runs", "not_found")
    if is_under_way(run):
        raise invalid(f"runs: {run_id} has not ended. Wait until it has, or cancel it.", "runs", "run_not_ended")
    if not rows_of(run):
        raise invalid(f"runs: {run_id} has no rows.", "runs")
    return run


async def _gold(
    store: Store, registry: Registry, engine: CheckEngine, project: str, gold: Mapping[str, Any]
) -> tuple[dict[str, Any] | None, GraderSpec | None, LabelledSource | None]:
    if gold.get("grader") is not None:
        grader, spec = await expanded(registry, project, gold["grader"], "gold.grader")
        await check_ready(engine, spec, "gold.grader")
        return grader, spec, None
    if not gold:
        return None, None, None
    source = await find_labelled(store, project, gold, "gold.")
    if source.labelled.kind == "preferred":
        raise invalid("gold: preferences are no gold for single answers. It takes labels or scores.", "gold")
    return None, None, source
