"""On whose behalf something is done: the request and the run, for every line of the log that is written meanwhile."""

from contextvars import ContextVar

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
run_id: ContextVar[str | None] = ContextVar("run_id", default=None)


def now() -> dict[str, str]:
    """Those that are known here and now."""
    marks = {"request_id": request_id.get(), "run_id": run_id.get()}
    return {name: value for name, value in marks.items() if value is not None}
