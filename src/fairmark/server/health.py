"""For those who look after the server: is it alive, can it work, what has it done."""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fairmark.errors import ApiError
from fairmark.evals.run_calls import STATUSES
from fairmark.refusals import answer_to, disk_full, shutting_down
from fairmark.serving import log
from fairmark.serving.metrics import by_status, stored_completions
from fairmark.serving.siblings import Siblings
from fairmark.serving.wire import State, answer, state
from fairmark.store import DiskFull, StoreUnavailable
from fairmark.work import counts
from fairmark.work.counts import gauge

if TYPE_CHECKING:
    from fairmark.work.counts import Family

READY_WITHIN_S = 3.0


async def alive(request: Request) -> Response:
    """The process answers. It looks at nothing else."""
    return answer({"status": "ok"})


async def ready(request: Request) -> Response:
    """Whether it can work, and what of it cannot: the store answers and has room, and somebody works off runs. 503
    otherwise, with the first thing that is wrong in words."""
    shared = state(request)
    checks: dict[str, str] = {}
    refusal: ApiError | None = None
    for name, check in (("stopping", _goes_on), ("store", _answers), ("room", _has_room), ("runs", _works)):
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await check(shared)
            checks[name] = "ok"
        except TimeoutError:
            late = StoreUnavailable(f"the store did not answer within {READY_WITHIN_S:g} s.")
            refusal, checks[name] = refusal or answer_to(late, ""), str(late)
        except (ApiError, StoreUnavailable) as error:
            # 503 is what those who balance load look for. Anybody may ask: where the store is, the log alone says.
            told = disk_full(503) if isinstance(error, DiskFull) else answer_to(error, "")
            refusal, checks[name] = refusal or told, told.message
            log.event(logging.WARNING, "not ready", check=name, reason=str(error))
    if refusal is not None:
        refusal.extra["checks"] = checks
        raise refusal
    return answer({"status": "ready", **_which(shared.siblings)})


async def _goes_on(shared: State) -> None:
    if shared.stopping.is_set():
        raise shutting_down()


async def _answers(shared: State) -> None:
    await shared.store.keys.any()


async def _has_room(shared: State) -> None:
    await shared.store.check_room()


async def _works(shared: State) -> None:
    """Of several processes on a SQLite file the first works runs off; it may be just being begun anew."""
    if not shared.works and 0 not in await shared.siblings.ask("alive"):
        message = "the process that works off runs is not there; it is begun anew."
        raise ApiError(503, message, "server_error", code="no_worker", headers={"retry-after": "2"})


def _which(siblings: Siblings) -> dict[str, int]:
    """Which process answers, where there are several."""
    return {} if siblings.count == 1 else {"process": siblings.number}


async def metrics(request: Request) -> Response:
    """Counters and gauges in Prometheus' text format, of all processes of the server. Without a store it tells what it
    knows itself."""
    shared = state(request)
    stored: list[Family] = []
    with contextlib.suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(READY_WITHIN_S):
            runs = await shared.store.runs.count_by_status()
            stored.append(by_status("runs", {status: runs.get(status, 0) for status in STATUSES}))
            queued = await shared.store.limits.all_rows_queued()
            stored.append(gauge("fairmark_rows_queued", "Rows of runs that are not graded yet.", {(): queued}))
            stored += await shared.limits.families()
            stored += stored_completions(await shared.store.completions.totals())
    siblings = shared.siblings
    if siblings.count == 1:
        text = shared.metrics.render(stored)
    else:
        others = await siblings.ask("metrics")
        others[siblings.number] = shared.metrics.families()
        text = counts.render([(None, stored), *sorted(others.items())])
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
