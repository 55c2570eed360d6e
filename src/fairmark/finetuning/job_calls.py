"""The calls about fine-tuning jobs: find one, create one, cancel, pause and resume one, and how one is shown."""

from functools import partial
from typing import Any

from fairmark.evals.engine import Engine
from fairmark.finetuning.asking import FILES, read_grader, read_job
from fairmark.finetuning.baseline import run_ids
from fairmark.finetuning.engine import JobEngine
from fairmark.refusals import invalid, not_found
from fairmark.registry.lookup import Registry
from fairmark.store import Job, NewEvent, Store

TO_TRAIN_ON = "fine-tune"
"""The purpose of files with rows."""
FOR_ANSWERS = (TO_TRAIN_ON, "evals")
"""Purposes of files with answers."""


async def find_job(store: Store, project: str, job_id: str) -> Job:
    """Raises ApiError where the project has none of this id."""
    job = await store.jobs.get(project, job_id)
    if job is None:
        raise not_found("fine-tuning job", job_id)
    return job


async def new_job(
    store: Store, registry: Registry, runs: Engine, jobs: JobEngine, project: str, fields: dict[str, Any]
) -> Job:
    """The job that a body asks for, created; the engine begins with it. Raises ApiError."""
    body, metadata = read_job(fields)
    for name in FILES:
        if body[name] is not None:
            await _check_file(store, project, name, body[name])
    reinforcement = body["method"]["reinforcement"]
    expand = partial(registry.expand, project)
    reinforcement["grader"] = await read_grader(reinforcement["grader"], expand, asks_models=not runs.has_own_judge)
    files = " and ".join(f"{name.replace('_', ' ')} {body[name]}" for name in FILES[:2] if body[name] is not None)
    events = [NewEvent("Created fine-tuning job."), NewEvent(f"Validating {files}.")]
    job = await store.jobs.create(project, metadata, body, events)
    jobs.wake()
    return job


async def _check_file(store: Store, project: str, name: str, file_id: str) -> None:
    file = await store.files.get(project, file_id)
    if file is None:
        raise invalid(f"{name}: there is no file {file_id}.", name, "file_not_found")
    allowed = FOR_ANSWERS if "answers" in name else (TO_TRAIN_ON,)
    if file.purpose not in allowed:
        message = f"{name}: {file_id} was uploaded with the purpose {file.purpose}. It takes {' or '.join(allowed)}."
        raise invalid(message, name, "invalid_purpose")


async def cancel_job(store: Store, runs: Engine, jobs: JobEngine, job: Job) -> Job:
    """The job as it is then, its runs cancelled too. One that has ended stays as it was."""
    cancelled = await store.jobs.cancel(job.project, job.id, NewEvent("The job was cancelled."), run_ids(job))
    jobs.drop(job.id)
    for run_id in run_ids(job):
        runs.cancel(run_id)
    return cancelled or job


async def pause_job(store: Store, jobs: JobEngine, job: Job, paused: bool) -> Job:
    """The job as it is then, paused or resumed. Raises ApiError for one that has ended."""
    if not job.is_active:
        why = "it was made elsewhere and is history" if job.imported else f"its status is {job.status}"
        raise invalid(f"{job.id} cannot be {'paused' if paused else 'resumed'}: {why}.", code="job_ended")
    event = NewEvent("The job was paused." if paused else "The job was resumed.")
    changed = await store.jobs.pause(job.project, job.id, paused, event)
    if paused:
        jobs.drop(job.id)
    else:
        jobs.wake()
    return changed or job


def job_wire(job: Job) -> dict[str, Any]:
    if job.imported is not None:
        return {**job.body, "imported": job.imported}
    body = job.body
    shown = {
        "object": "fine_tuning.job",
        "id": job.id,
        "model": body["model"],
        "created_at": job.created_at,
        "finished_at": body.get("finished_at"),
        "fine_tuned_model": body.get("fine_tuned_model"),
        "organization_id": job.project,
        "result_files": body.get("result_files") or [],
        "status": job.status,
        "validation_file": body["validation_file"],
        "training_file": body["training_file"],
        "hyperparameters": {},  # of supervised jobs only; those of this one stand in its method
        "trained_tokens": body.get("trained_tokens"),
        "error": body.get("error"),
        "user_provided_suffix": body["user_provided_suffix"],
        "seed": body["seed"],
        "estimated_finish": body.get("estimated_finish"),
        "integrations": body["integrations"],
        "metadata": job.metadata,
        "method": body["method"],
        "eval_id": body.get("eval_id"),
        "paused": job.paused,
    }
    answers = {name: body[name] for name in FILES[2:] if body[name] is not None}
    return {**shown, **answers}
