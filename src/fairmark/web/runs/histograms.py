"""How a run's rewards are spread, counted once: several pages show it, and of many rows it takes a moment."""

import asyncio
from collections import OrderedDict

from starlette.requests import Request

from fairmark.serving.wire import state
from fairmark.store import Run
from fairmark.store.evals.scores import Histogram

BARS = 20
KEPT = 512

_kept: OrderedDict[tuple[str, int, tuple[int, ...]], asyncio.Task[Histogram]] = OrderedDict()
"""The last ones, some still to come. A criterion whose counters have not moved has graded no other row."""


def histogram(request: Request, run: Run, criterion: int, criterion_id: str) -> asyncio.Task[Histogram]:
    key = (run.id, criterion, tuple(run.criteria_counts.get(criterion_id, ())))
    known = _kept.get(key)
    if known is None or (known.done() and (known.cancelled() or known.exception() is not None)):
        known = asyncio.create_task(state(request).store.scores.histogram(run, criterion, BARS))
        _kept[key] = known
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return known
