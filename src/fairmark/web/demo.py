"""The demo: a small eval of real graders, whose answers are right, nearly right and wrong. It needs no model."""

import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.server.evals import new_eval
from fairmark.server.runs import new_run
from fairmark.web.visit import redirect

DATA = Path(__file__).parent / "demo.json"


def read() -> tuple[dict[str, Any], dict[str, Any]]:
    """What a client would send to create the eval, and then a run of it."""
    found = json.loads(DATA.read_text())
    return found["eval"], found["run"]


async def create(request: Request) -> Response:
    eval_, run = read()
    created = await new_eval(request, eval_)
    started = await new_run(request, created, run)
    return redirect(f"/evals/{created.id}/runs/{started.id}", "The demo eval is there, and its first run has begun.")
