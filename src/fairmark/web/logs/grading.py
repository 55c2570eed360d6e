"""From the log to grades: an eval of what was chosen there, and a run over it."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError
from fairmark.evals.run_calls import new_run
from fairmark.serving.named import named_eval
from fairmark.serving.wire import key_id, project, state
from fairmark.store import Eval
from fairmark.web.frame import render
from fairmark.web.frame.visit import field, redirect
from fairmark.web.logs.listing import KINDS, Filter

MOST_ROWS = "1000"
"""What the form offers."""
SOURCES = {"chat": ("completions", "stored_completions"), "responses": ("responses", "responses")}


async def show(request: Request) -> Response:
    eval_ = await named_eval(request)
    wanted = Filter.read(request.query_params)
    return _page(request, eval_, wanted, request.query_params.get("limit", MOST_ROWS), "", "")


async def start(request: Request) -> Response:
    eval_ = await named_eval(request)
    shared = state(request)
    kind = field(request, "kind")
    wanted = Filter(
        kind if kind in KINDS else "chat", field(request, "model").strip(), field(request, "metadata").strip()
    )
    limit, asked = field(request, "limit").strip(), field(request, "asked").strip()
    type_, source_type = SOURCES[wanted.kind]
    source: dict[str, Any] = {"type": source_type, "metadata": wanted.pairs or None, "model": wanted.model or None}
    source["limit"] = int(limit) if limit.isascii() and limit.isdecimal() and len(limit) < 9 else limit or None
    data_source = {"type": type_, "source": source, **({"model": asked} if asked else {})}
    await shared.keeper.settled(project(request))
    body = {"name": field(request, "name").strip(), "data_source": data_source}
    try:
        run = await new_run(
            shared.store, shared.registry, shared.engine, project(request), eval_, body, key_id(request)
        )
    except ApiError as error:
        return _page(request, eval_, wanted, limit, asked, error.message)
    return redirect(f"/evals/{eval_.id}/runs/{run.id}")


def _page(request: Request, eval_: Eval, wanted: Filter, limit: str, asked: str, problem: str) -> Response:
    return render.page(
        request,
        "logs/grading.html",
        400 if problem else 200,
        eval=eval_,
        path=f"/evals/{eval_.id}",
        wanted=wanted,
        limit=limit,
        asked=asked,
        of_eval=eval_.data_source_config.get("metadata") or {},
        problem=problem,
    )
