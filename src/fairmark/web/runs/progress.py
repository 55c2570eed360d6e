"""How a run goes on, told as it does: server-sent events with the part of its page that changes.

However many look at a run, the store is asked once a second, and the part is made once.
"""

import asyncio
import contextlib
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from fairmark.evals.run_calls import told
from fairmark.serving.named import named_eval, named_run
from fairmark.serving.wire import project, state
from fairmark.store import Run, Store, StoreUnavailable, reason_key
from fairmark.web.frame import render
from fairmark.web.runs.distribution import Rate, rate

EVERY_S = 1.0
LOOKS_BACK_S = 15.0
"""Over how long the rate is taken: long enough not to jump, short enough to follow."""
QUIET_S = 15.0
"""After so long without news something is sent all the same: proxies close what is silent."""
AT_MOST_S = 600.0
"""Then the browser asks again, and whether it may is looked at anew."""
ACTIVE = ("queued", "in_progress")


class Progress(NamedTuple):
    """Where a run stands."""

    run: Run
    rows_a_second: float | None = None
    """None until two looks can be compared."""

    @property
    def is_active(self) -> bool:
        return self.run.status in ACTIVE and self.run.imported is None

    @property
    def done(self) -> int:
        run = self.run
        return run.passed + run.failed + run.errored + run.skipped

    @property
    def seconds_left(self) -> float | None:
        """None where nobody can know."""
        if not self.is_active or not self.rows_a_second or self.run.total is None:
            return None
        return max(0, self.run.total - self.done) / self.rows_a_second

    @property
    def took_s(self) -> float | None:
        """From its beginning to its end; None where it goes on, or nobody noted it."""
        run = self.run
        if self.is_active or run.started_at is None or run.ended_at is None:
            return None
        return max(0.001, run.ended_at - run.started_at)


async def events(request: Request) -> Response:
    """`progress`: the part of the page, anew; `rows`: there are some now; `ended`: there is no more to come.

    `?rows=none`: the page shows none, and is told of those that came before it began to listen.
    """
    eval_, run = await named_eval(request), await named_run(request, with_source=False)
    criteria = [criterion["id"] for criterion in run.criteria or eval_.criteria]
    headers = {"x-accel-buffering": "no"}
    return StreamingResponse(_events(request, run, criteria), media_type="text/event-stream", headers=headers)


async def _events(request: Request, run: Run, criteria: Sequence[str]) -> AsyncIterator[bytes]:
    shared = state(request)
    until = time.monotonic() + AT_MOST_S
    sent, sent_at = "", time.monotonic()
    had_rows = False if request.query_params.get("rows") == "none" else None
    with _watching(run.id) as watched:
        while not shared.stopping.is_set() and time.monotonic() < until:
            with contextlib.suppress(StoreUnavailable):  # it is asked again
                now = await watched.look(shared.store, project(request), run, criteria)
                if now is None:
                    yield _event("ended")
                    return
                if watched.part != sent:
                    sent, sent_at = watched.part, time.monotonic()
                    yield _event("progress", sent)
                if had_rows is False and now.done:
                    yield _event("rows")
                had_rows = now.done > 0
                if not now.is_active:
                    yield _event("ended")
                    return
            if time.monotonic() - sent_at > QUIET_S:
                sent_at = time.monotonic()
                yield b": still here\n\n"
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EVERY_S):
                    await shared.stopping.wait()


class _Watched:
    """A run that somebody looks at."""

    def __init__(self) -> None:
        self.viewers = 0
        self.part = ""
        self._now: Progress | None = None
        self._looked_at = 0.0
        self._looking = asyncio.Lock()
        self._seen: deque[tuple[float, int]] = deque()

    async def look(self, store: Store, of: str, run: Run, criteria: Sequence[str]) -> Progress | None:
        """Where the run stands now, or did less than a second ago; None where it is gone."""
        async with self._looking:
            now = time.monotonic()
            if now - self._looked_at < EVERY_S * 0.9:
                return self._now
            current = await store.runs.get(of, run.eval_id, run.id, with_source=False)
            self._looked_at = now
            self._now = None if current is None else Progress(current, self._rate(now, Progress(current).done))
            if self._now is not None:
                self.part = live(self._now, criteria)
            return self._now

    def _rate(self, now: float, done: int) -> float | None:
        self._seen.append((now, done))
        while self._seen[0][0] < now - LOOKS_BACK_S:
            self._seen.popleft()
        then, before = self._seen[0]
        return (done - before) / (now - then) if now > then and done > before else None


_WATCHED: dict[str, _Watched] = {}
"""By the run's id."""


@contextlib.contextmanager
def _watching(run_id: str) -> Iterator[_Watched]:
    watched = _WATCHED.setdefault(run_id, _Watched())
    watched.viewers += 1
    try:
        yield watched
    finally:
        watched.viewers -= 1
        if not watched.viewers:
            _WATCHED.pop(run_id, None)


class Reason(NamedTuple):
    """Why rows could not be graded."""

    text: str
    rows: int
    key: str


def reasons_of(run: Run) -> list[Reason]:
    return [Reason(text, count, str(reason_key(text))) for text, count in told(run.reasons)]


class CriterionNumbers(NamedTuple):
    rate: Rate | None
    counts: list[int]


def live(progress: Progress, criteria: Sequence[str] = ()) -> str:
    """The part of the page that changes while the run goes on: the same for everybody. With the ids of its criteria,
    also the numbers that stand elsewhere on the page, so that all tell the same at the same moment."""
    run, pace = progress.run, progress.rows_a_second
    counts = [run.criteria_counts.get(criterion, [0] * 4) for criterion in criteria]
    return (
        render.environment()
        .get_template("runs/live.html")
        .render(
            progress=progress,
            run=run,
            path=f"/evals/{run.eval_id}/runs/{run.id}",
            parts=[CriterionNumbers(rate(numbers[0], numbers[1]), numbers) for numbers in counts],
            reasons=reasons_of(run) if criteria else [],
            chosen_reason="",
            rate=rate(run.passed, run.failed),
            tokens=sum(used[3] for used in run.usage.values()),
            pace="" if pace is None else _pace(pace),
            took=progress.took_s,
            took_pace=_pace(progress.done / progress.took_s) if progress.took_s and progress.done else "",
        )
    )


def _pace(rows_a_second: float) -> str:
    return f"{rows_a_second:,.0f} rows/s" if rows_a_second >= 10 else f"{rows_a_second:.2g} rows/s"


def _event(name: str, data: str = "") -> bytes:
    lines = "".join(f"data: {line}\n" for line in re.split(r"\r\n|\r|\n", data))
    return f"event: {name}\n{lines}\n".encode("utf-8", "replace")
