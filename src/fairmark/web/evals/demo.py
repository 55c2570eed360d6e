"""The demo: a small eval of real graders, whose answers are right, nearly right and wrong. It needs no model."""

import copy
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.evals.eval_calls import new_eval
from fairmark.evals.run_calls import new_run
from fairmark.serving.wire import key_id, project, state
from fairmark.web.frame.visit import redirect

DATA = Path(__file__).parent / "demo.json"


def read() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a client would send to create the eval, and then two runs of it: the second has some other answers."""
    demo = json.loads(DATA.read_text())
    first, changed = demo["run"], demo["second"]
    second = copy.deepcopy(first)
    second["name"] = changed["name"]
    for row in second["data_source"]["source"]["content"]:
        row["sample"] = changed["answers"].get(row["item"]["question"], row["sample"])
    return demo["eval"], [first, second]


async def create(request: Request) -> Response:
    eval_, runs = read()
    shared, owner = state(request), project(request)
    created = await new_eval(shared.store, shared.registry, owner, eval_)
    started = [
        await new_run(shared.store, shared.registry, shared.engine, owner, created, run, key_id(request))
        for run in runs
    ]
    said = "The demo eval is there, and two runs have begun: look at this one, and compare it with the other."
    return redirect(f"/evals/{created.id}/runs/{started[0].id}", said)
