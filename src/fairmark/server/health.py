"""For those who look after the server: is it alive, can it work, what has it done."""

import asyncio
import contextlib

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fairmark.evals.run_calls import STATUSES
from fairmark.server.gate import disk_full
from fairmark.serving.wire import answer, state
from fairmark.store import DiskFull, StoreUnavailable

READY_WITHIN_S = 3.0


async def alive(request: Request) -> Response:
    """The process answers. It looks at nothing else."""
    return answer({"status": "ok"})


async def ready(request: Request) -> Response:
    """The store can be reached and has room; 503 otherwise."""
    store = state(request).store
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            await store.keys.any()
            await store.check_room()
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer within {READY_WITHIN_S:g} s.") from None
    except DiskFull:
        raise disk_full(503) from None  # what those who balance load look for
    return answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    """Counters and gauges in Prometheus' text format. Without a store it tells what it knows itself."""
    shared = state(request)
    runs: dict[str, float] = {}
    with contextlib.suppress(StoreUnavailable, TimeoutError):
        async with asyncio.timeout(READY_WITHIN_S):
            runs = {**dict.fromkeys(STATUSES, 0), **await shared.store.runs.count_by_status()}
    return PlainTextResponse(shared.metrics.render({"runs": runs}), media_type="text/plain; version=0.0.4")
