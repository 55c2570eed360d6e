"""What workers ask: for a job to train, and to tell how it goes. A worker may be on another machine, may die without a
word, and may send the same twice because an answer was lost; none of these harms a job."""

import re
import time
from typing import Any, NamedTuple, get_args

from fairmark import jsontext
from fairmark.errors import ApiError
from fairmark.finetuning.asking import LONGEST_MODEL, check_no_others, check_text, check_whole
from fairmark.finetuning.job_calls import job_wire
from fairmark.refusals import invalid, missing, wrong_type
from fairmark.store import Job, Lease, NewCheckpoint, NewEvent, Store
from fairmark.store.jobs.entries import Level

LEASE_S = 60
SHORTEST_LEASE_S, LONGEST_LEASE_S = 2, 3600
MOST_MODELS = 100
MOST_EVENTS, MOST_CHECKPOINTS = 50, 20
LONGEST_MESSAGE, LONGEST_KEY, LONGEST_CODE = 20_000, 100, 64
MOST_DATA_BYTES = 50_000
STATUSES = ("running", "succeeded", "failed")
GREATEST = 2**53
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_FIELDS = (
    "lease", "lease_s", "release", "status", "fine_tuned_model", "trained_tokens", "estimated_finish", "error",
    "events", "checkpoints",
)  # fmt: skip


async def take_job(store: Store, project: str, fields: dict[str, Any]) -> dict[str, Any]:
    """A job for a worker, with its lease, or none. Raises ApiError."""
    check_no_others(fields, ("worker", "models", "lease_s"), "")
    name = _name("worker", fields.get("worker"))
    models = fields.get("models")
    if models is None:
        raise missing("models", "It takes the names of the models that this worker trains.")
    if not isinstance(models, list) or not 1 <= len(models) <= MOST_MODELS:
        raise wrong_type("models", f"a list of 1 to {MOST_MODELS} names", models)
    for index, model in enumerate(models):
        check_text(f"models[{index}]", model, LONGEST_MODEL)
    lease_s = _lease_s(fields)
    if not await store.leases.greet(project, name, models):
        raise ApiError(
            409, "worker: the project has too many workers already.", param="worker", code="too_many_workers"
        )
    leased = await store.leases.take(project, models, lease_s)
    if leased is None:
        return {"object": "fine_tuning.lease", "job": None, "lease": None, "lease_s": lease_s}
    lease = leased.lease.token
    return {"object": "fine_tuning.lease", "job": job_wire(leased.job), "lease": lease, "lease_s": lease_s}


class WorkerReport(NamedTuple):
    """What a worker tells of its job."""

    lease: Lease
    releases: bool
    status: Any
    changes: dict[str, Any]
    events: list[NewEvent]
    checkpoints: list[NewCheckpoint]


async def note_progress(store: Store, job: Job, fields: dict[str, Any]) -> Job:
    """The job with all that its worker tells. Raises ApiError; 409 `lease_lost` where the job is not the worker's."""
    progress = read_progress(fields)
    changed = await store.jobs.advance(
        job, progress.changes, progress.events, progress.checkpoints, progress.status, progress.lease
    )
    if changed is None:
        raise _lost(await store.jobs.get(job.project, job.id))
    if progress.releases and changed.is_active:
        await store.leases.release(changed, progress.lease)
    return changed


def _lost(job: Job | None) -> ApiError:
    if job is None:
        why = "the job is gone"
    elif not job.is_active:
        why = f"the job is {job.status}"
    elif job.paused:
        why = "the job is paused"
    else:
        why = "another worker has the job, or none"
    return ApiError(409, f"lease: it is not valid any more: {why}. Stop training.", param="lease", code="lease_lost")


def read_progress(fields: dict[str, Any]) -> WorkerReport:
    """Raises ApiError."""
    check_no_others(fields, _FIELDS, "")
    lease = Lease(_name("lease", fields.get("lease")), int(time.time()) + _lease_s(fields))
    releases = fields.get("release", False)
    if not isinstance(releases, bool):
        raise wrong_type("release", "true or false", releases)
    status = fields.get("status")
    if status is not None and status not in STATUSES:
        raise invalid(f"status: found {jsontext.describe(status)}. Use one of: {', '.join(STATUSES)}.", "status")
    changes = _changes(fields, status)
    return WorkerReport(lease, releases, status, changes, _events(fields), _checkpoints(fields))


def _changes(fields: dict[str, Any], status: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    model = fields.get("fine_tuned_model")
    if (model is not None) != (status == "succeeded"):
        raise invalid("fine_tuned_model: it stands beside the status succeeded, and only there.", "fine_tuned_model")
    if model is not None:
        check_text("fine_tuned_model", model, LONGEST_MODEL)
        changes["fine_tuned_model"] = model
    for name in ("trained_tokens", "estimated_finish"):
        if fields.get(name) is not None:
            check_whole(name, fields[name], 0, GREATEST)
            changes[name] = int(fields[name])
    error = fields.get("error")
    if (error is not None) != (status == "failed"):
        raise invalid("error: it stands beside the status failed, and only there.", "error")
    if error is not None:
        if not isinstance(error, dict):
            raise wrong_type("error", "an object", error)
        check_no_others(error, ("code", "message", "param"), "error.")
        check_text("error.code", error.get("code"), LONGEST_CODE)
        check_text("error.message", error.get("message"), LONGEST_MESSAGE)
        changes["error"] = {"code": error["code"], "message": error["message"], "param": None}
    if status in ("succeeded", "failed"):
        changes["estimated_finish"] = None
    return changes


def _events(fields: dict[str, Any]) -> list[NewEvent]:
    return [_event(f"events[{index}]", event) for index, event in enumerate(_list(fields, "events", MOST_EVENTS))]


def _event(where: str, event: Any) -> NewEvent:
    if not isinstance(event, dict):
        raise wrong_type(where, "an object", event)
    check_no_others(event, ("key", "level", "message", "data"), f"{where}.")
    check_text(f"{where}.key", event.get("key"), LONGEST_KEY)
    check_text(f"{where}.message", event.get("message"), LONGEST_MESSAGE)
    level, data = event.get("level", "info"), event.get("data")
    if level not in get_args(Level):
        message = f"{where}.level: found {jsontext.describe(level)}. Use one of: {', '.join(get_args(Level))}."
        raise invalid(message, f"{where}.level")
    return NewEvent(event["message"], level, None if data is None else _small(f"{where}.data", data), event["key"])


def _checkpoints(fields: dict[str, Any]) -> list[NewCheckpoint]:
    made = []
    for index, checkpoint in enumerate(_list(fields, "checkpoints", MOST_CHECKPOINTS)):
        where = f"checkpoints[{index}]"
        if not isinstance(checkpoint, dict):
            raise wrong_type(where, "an object", checkpoint)
        check_no_others(checkpoint, ("model", "step", "metrics"), f"{where}.")
        check_text(f"{where}.model", checkpoint.get("model"), LONGEST_MODEL)
        check_whole(f"{where}.step", checkpoint.get("step"), 0, GREATEST)
        metrics = _small(f"{where}.metrics", checkpoint.get("metrics", {}))
        made.append(NewCheckpoint(checkpoint["model"], int(checkpoint["step"]), metrics))
    return made


def _list(fields: dict[str, Any], name: str, most: int) -> list[Any]:
    entries = fields.get(name)
    if entries is None:
        return []
    if not isinstance(entries, list) or len(entries) > most:
        raise wrong_type(name, f"a list of at most {most}", entries)
    return entries


def _small(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong_type(where, "an object", value)
    size = len(jsontext.encode(value))
    if size > MOST_DATA_BYTES:
        raise invalid(f"{where}: it has {size:,} bytes. It takes at most {MOST_DATA_BYTES:,}.", where)
    return value


def _lease_s(fields: dict[str, Any]) -> int:
    lease_s = fields.get("lease_s")
    if lease_s is None:
        return LEASE_S
    check_whole("lease_s", lease_s, SHORTEST_LEASE_S, LONGEST_LEASE_S)
    return int(lease_s)


def _name(where: str, name: Any) -> str:
    if name is None:
        raise missing(where, "It takes 1 to 100 letters, digits or any of . _ : -")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise invalid(f"{where}: it takes 1 to 100 letters, digits or any of . _ : -", where)
    return name
