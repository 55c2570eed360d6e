"""The steps of a job as points of curves: rewards, what could not be graded, and how long it took."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.finetuning.job_calls import find_job
from fairmark.serving.wire import answer, project, state
from fairmark.store import Job, Store
from fairmark.store.jobs.entries import Entry

PAGE = 200
MOST_EVENTS = 10_000
"""How far back a page looks; older steps are not drawn."""
_TIMES = ("sampling", "training", "eval", "full_iteration")


async def show(request: Request) -> Response:
    """The points after the event that the page knows, which are few while it is looked at; the oldest first."""
    shared = state(request)
    job = await find_job(shared.store, project(request), request.path_params["job_id"])
    known = request.query_params.get("after") or None
    entries = await _entries(shared.store, job, known)
    points = await asyncio.to_thread(lambda: list(read_points(entries)))
    newest = entries[0].id if entries else known
    return answer({"points": points, "newest": newest, "is_active": job.is_active and not job.paused})


async def _entries(store: Store, job: Job, known: str | None) -> list[Entry]:
    """The newest first."""
    entries: list[Entry] = []
    after: str | None = None
    while len(entries) < MOST_EVENTS:
        page = await store.jobs.events(job, PAGE, after)
        for entry in page.data:
            if entry.id == known:
                return entries
            entries.append(entry)
        if not page.has_more:
            break
        after = page.data[-1].id
    return entries


def read_points(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """Of entries, the newest first, the points, the oldest first. What is no number there is none here: jobs that were
    made elsewhere say whatever they say."""
    for entry in reversed(entries):
        event = jsontext.decode(entry.body)
        data = event.get("data") if isinstance(event, dict) and event.get("type") == "metrics" else None
        if isinstance(data, dict) and isinstance(data.get("step"), int):
            yield _point(data)


def _point(data: dict[str, Any]) -> dict[str, Any]:
    scores = _object(data.get("scores"))
    graders = scores.get("graders")
    seconds = _object(_object(data.get("timing")).get("step"))
    graded = _object(data.get("graded") or data.get("baseline"))
    return {
        "step": data["step"],
        "total_steps": data.get("total_steps"),
        "train": _number(data.get("train_mean_reward")),
        "valid": _number(data.get("full_valid_mean_reward")),
        "parts": [
            {
                "name": str(part.get("name")),
                "train": _number(part.get("train_reward_mean")),
                "valid": _number(part.get("valid_reward_mean")),
            }
            for part in (graders if isinstance(graders, list) else [])
            if isinstance(part, dict)
        ],
        "failed": {name: _failed(_object(graded.get(name))) for name in ("train", "valid")},
        "reason": next(
            (reason for name in ("train", "valid") if (reason := _object(graded.get(name)).get("most_frequent_error"))),
            None,
        ),
        "tokens": _number(data.get("completion_tokens_mean")),
        "seconds": {name: _number(seconds.get(name)) for name in _TIMES},
    }


def _failed(counts: dict[str, Any]) -> float | None:
    """The share of rows that were not graded."""
    rows, graded = _number(counts.get("rows")), _number(counts.get("graded"))
    return None if not rows or graded is None else 1 - graded / rows


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
