"""The calls about judge checks that the API and the web page share: plan one, begin one, find, cancel, delete, show."""

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fairmark.checks import fields
from fairmark.checks.engine import CheckEngine
from fairmark.checks.requests import CheckRequest, read_check, stored
from fairmark.checks.sources import find_labelled
from fairmark.checks.standing import of_criterion
from fairmark.errors import ApiError, InvalidData, InvalidGrader
from fairmark.judges.chosen import unlisted as unlisted_by_providers
from fairmark.parse import aparse
from fairmark.readiness import lacks, models, unlisted
from fairmark.refusals import invalid, invalid_grader, not_found
from fairmark.registry.lookup import Registry
from fairmark.spec import GraderSpec
from fairmark.store import Store, StoredCheck
from fairmark.store.checks import CheckKind
from fairmark.trust.check import prepare
from fairmark.trust.plan import CheckPlan
from fairmark.trust.subject import Subject

MOST_WAITING = 50
"""How many checks of a project may be under way or wait."""
# Where the library's words name an option of the command, ours name a field.
_FIELDS = {"--pair-labels": "pair_labels", "--pair": "pair"}


class PlannedCheck(NamedTuple):
    """What is asked for, checked, and what it will take. Nothing is asked or stored yet."""

    request: CheckRequest
    subject: Subject
    plan: dict[str, Any]
    rows: dict[str, Any]
    content: bytes

    def wire(self) -> dict[str, Any]:
        return {
            "object": "judge_check.plan",
            "grader": _grader(self.request.grader, self.subject.models, self.subject.fingerprint),
            "rows": self.rows,
            "plan": self.plan,
        }


async def plan_check(
    store: Store, registry: Registry, engine: CheckEngine, project: str, body: Mapping[str, Any]
) -> PlannedCheck:
    """Raises ApiError."""
    read = read_check(body)
    fields.flag(body, "dry_run")
    grader, spec = await expanded(registry, project, body["grader"])
    await check_ready(engine, spec, "grader")
    source = await find_labelled(store, project, body)
    request = CheckRequest(grader=grader, rows_from=source.name, file_id=source.file_id, **read)
    try:
        sheet, plan = await asyncio.to_thread(prepare, spec, source.labelled, request.options(), {})
    except InvalidData as error:
        words = str(error)
        for option, name in _FIELDS.items():
            words = words.replace(option, name)
        raise invalid(words, "rows" if source.file_id is None else "file_id") from None
    labelled = source.labelled
    rows = {
        "total": len(labelled.rows),
        "labelled": sum(bool(row.ratings) for row in labelled.rows),
        "kind": labelled.kind,
        "raters": len(labelled.raters),
    }
    # The fingerprint is worked out now: it reads the settings.
    await asyncio.to_thread(lambda: sheet.subject.fingerprint)
    return PlannedCheck(request, sheet.subject, plan_wire(plan), rows, source.content)


async def begin_check(
    store: Store, engine: CheckEngine, project: str, planned: PlannedCheck, created_by: str | None = None
) -> StoredCheck:
    """The check, created; the engine begins with it. Raises ApiError."""
    await check_room(store, engine, project)
    subject = planned.subject
    made = await store.checks.create(
        project,
        "judge_check",
        stored(planned.request),
        {**planned.plan, "rows": planned.rows, "models": subject.models},
        planned.content,
        grader_id=of_criterion(subject.spec).grader_id,
        fingerprint=subject.fingerprint,
        created_by=created_by,
    )
    engine.wake()
    return made


async def find_check(store: Store, project: str, check_id: str, kind: CheckKind = "judge_check") -> StoredCheck:
    """Raises ApiError where the project has none of this id."""
    check = await store.checks.get(project, kind, check_id)
    if check is None:
        raise not_found(kind.replace("_", " "), check_id)
    return check


async def cancel_check(store: Store, engine: CheckEngine, check: StoredCheck) -> StoredCheck:
    """As it is then. One that has ended stays as it was."""
    cancelled = await store.checks.cancel(check.project, check.kind, check.id)
    engine.drop(check.id)
    return cancelled or check


async def delete_check(store: Store, engine: CheckEngine, check: StoredCheck) -> None:
    await store.checks.delete(check.project, check.kind, check.id)
    engine.drop(check.id)


async def find_page(store: Store, check: StoredCheck) -> bytes:
    """The report as a page. Raises ApiError where there is none."""
    page = await store.checks.page(check)
    if page is None:
        raise ApiError(404, f"There is no report: the status is {check.status}.", code="no_report")
    return page


def check_wire(check: StoredCheck, report: bytes | None = None) -> dict[str, Any]:
    """`report`: as it is stored, which lists leave out."""
    request, plan = check.request, dict(check.plan)
    rows, models_asked = plan.pop("rows"), plan.pop("models")
    return {
        "object": "judge_check",
        "id": check.id,
        "status": check.status,
        "name": request.get("name"),
        "grader": _grader(request["grader"], models_asked, check.fingerprint),
        "file_id": request.get("file_id"),
        "rows": rows,
        **{name: request[name] for name in ("probes", "max_calls", "budget", "require", "seed", "deadline_s")},
        "plan": plan,
        **times_wire(check),
        "grade": check.grade,
        **({} if report is None else {"report": msgspec.Raw(report)}),
    }


def times_wire(check: StoredCheck) -> dict[str, Any]:
    """What checks and reports share: how far they are."""
    return {
        "progress": {"answered": 0, "failed": 0, "questions": 0, "tokens": 0, "dollars": None, **check.progress},
        "created_at": check.created_at,
        "started_at": None if check.started_at is None else int(check.started_at),
        "ended_at": None if check.ended_at is None else int(check.ended_at),
        "error": check.error,
    }


def plan_wire(plan: CheckPlan) -> dict[str, Any]:
    return {
        "calls": plan.calls,
        "tokens": plan.tokens,
        "dollars": plan.dollars,
        "probes": [
            {
                "name": probe.name,
                "calls": probe.calls,
                "tokens": probe.tokens,
                "dollars": probe.dollars,
                "status": "planned" if probe.left_out is None else probe.left_out.status,
                "why": None if probe.left_out is None else probe.left_out.why,
            }
            for probe in plan.probes
        ],
        "notes": list(plan.notes),
    }


def _grader(grader: Mapping[str, Any], models_asked: Any, fingerprint: str | None) -> dict[str, Any]:
    note = grader.get("registered")
    registered = note if isinstance(note, dict) else {}
    return {
        "name": grader.get("name"),
        "type": grader["type"],
        "key": registered.get("key"),
        "version": registered.get("version"),
        "models": list(models_asked),
        "fingerprint": fingerprint,
    }


# What a report with a gold grader needs too


async def expanded(
    registry: Registry, project: str, grader: Mapping[str, Any], where: str = "grader"
) -> tuple[dict[str, Any], GraderSpec]:
    """A grader without references, and what it is. Raises ApiError."""
    try:
        full = await registry.expand(project, grader)
        return full, await aparse(full)
    except InvalidGrader as error:
        raise invalid_grader(error, where) from None


async def check_ready(engine: CheckEngine, spec: GraderSpec, where: str) -> None:
    """Raises ApiError where a model is not to be had, or a package is missing: nothing is paid for in vain."""
    problems = await asyncio.to_thread(lacks, spec)
    if engine.has_own_judge:
        problems = [problem for problem in problems if problem.code == "image_not_installed"]
    elif not problems:
        problems = unlisted(spec, await unlisted_by_providers({name for _, name in models(spec)}))
    if problems:
        raise invalid_grader(InvalidGrader(problems), where)


async def check_room(store: Store, engine: CheckEngine, project: str) -> None:
    """Raises ApiError, 429, where the project may not begin another now."""
    engine.admit(project)
    if await store.checks.under_way(project) >= MOST_WAITING:
        raise ApiError(
            429,
            f"{MOST_WAITING} checks and reports of the project are under way. Wait for some, or cancel them.",
            "rate_limit_error",
            code="too_many_checks",
            headers={"retry-after": "30"},
        )
