"""For those who look after the server: is it alive, can it work, what has it done."""

import asyncio

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from fairmark.server.wire import answer, state
from fairmark.store import StoreUnavailable

READY_WITHIN_S = 3.0


async def alive(request: Request) -> Response:
    """The process answers. It looks at nothing else."""
    return answer({"status": "ok"})


async def ready(request: Request) -> Response:
    """The store can be reached; 503 otherwise."""
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            await state(request).store.keys.any()
    except TimeoutError:
        raise StoreUnavailable(f"the store did not answer within {READY_WITHIN_S:g} s.") from None
    return answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    """Counters and gauges in Prometheus' text format."""
    text = state(request).metrics.render({})
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
