"""What the scripts share: waiting for a run, errors as facts, and telling what was found."""

import json
import time
from collections.abc import Callable
from typing import Any

ITEM_SCHEMA = {"type": "object", "properties": {"question": {"type": "string"}, "answer": {"type": "string"}}}
CAPITALS = [("France", "Paris"), ("Italy", "Rome"), ("Spain", "Barcelona"), ("Peru", "Lima")]
"""Questions and answers, one of which is wrong."""
ROWS = [{"item": {"question": f"The capital of {country}?", "answer": city}} for country, city in CAPITALS]


def finished(client: Any, eval_id: str, run_id: str) -> Any:
    """The run when it is over."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        run = client.evals.runs.retrieve(run_id, eval_id=eval_id)
        if run.status not in ("queued", "in_progress"):
            return run
        time.sleep(0.05)
    raise TimeoutError(f"run {run_id} is {run.status} after a minute")


def caught(call: Callable[[], Any]) -> dict[str, Any]:
    """The exception that the call raises, as the client's users see it."""
    try:
        value = call()
    except Exception as error:
        names = ("status_code", "code", "param", "type", "request_id", "message")
        return {"class": type(error).__name__, **{name: getattr(error, name, None) for name in names}}
    return {"class": None, "value": repr(value)}


def tell(facts: dict[str, Any]) -> None:
    print(json.dumps(facts))  # noqa: T201  # for the test that started us


def name_of(value: Any) -> str:
    return type(value).__name__
