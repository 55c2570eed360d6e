"""The demo: a small eval of real graders, whose answers are right, nearly right and wrong. It needs no model."""

import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.eval_calls import new_eval
from fairmark.evals.run_calls import new_run
from fairmark.serving.wire import project, state
from fairmark.web.frame.visit import redirect

DATA = Path(__file__).parent / "demo.json"


def read() -> tuple[dict[str, Any], dict[str, Any]]:
    """What a client would send to create the eval, and then a run of it."""
    found = json.loads(DATA.read_text())
    return found["eval"], found["run"]


async def create(request: Request) -> Response:
    eval_, run = read()
    shared, owner = state(request), project(request)
    created = await new_eval(shared.store, shared.registry, owner, eval_)
    started = await new_run(shared.store, shared.registry, shared.engine, owner, created, run)
    return redirect(f"/evals/{created.id}/runs/{started.id}", "The demo eval is there, and its first run has begun.")
