"""What reward servers answer, read with care: one row's nonsense must not spoil its neighbours' rewards."""

import json
import math
from collections.abc import Callable
from typing import Any

from fairmark import jsontext
from fairmark.endpoints.base import EndpointScore
from fairmark.errors import EndpointFailed, GradingFailed, NotGraded

LONGEST_TEXT = 10_000

Outcome = EndpointScore | GradingFailed | NotGraded


def decode(data: bytes) -> Any:
    """JSON, also with the NaN that Python's own servers write: it is the one row's fault that has it."""
    try:
        return jsontext.decode(data)
    except jsontext.NotJson as error:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise ValueError(f"not JSON: {error}") from None


def read_outcome(hide: Callable[[str], str], response: Any, seconds: float) -> Outcome:
    """What one response says. `hide` takes secrets out of messages; the server's reason is its answer, and stays."""
    if not isinstance(response, dict):
        return EndpointFailed(f"the endpoint's response is {jsontext.describe(response)}, not an object with a reward.")
    reward = response.get("reward")
    metadata = response.get("metadata")
    told = metadata if isinstance(metadata, dict) else {}
    if told.get("status") == "error":
        why = jsontext.shorten(str(told.get("error")), LONGEST_TEXT)
        return EndpointFailed(hide(f"the endpoint could not score this: {why}"))
    if told.get("status") == "skipped":
        why = jsontext.shorten(str(told.get("skipped")), LONGEST_TEXT)
        return NotGraded(hide(f"the endpoint left this out on purpose: {why}"))
    try:
        number = math.nan if isinstance(reward, bool) or not isinstance(reward, (int, float)) else float(reward)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        shown = "nothing" if "reward" not in response else jsontext.describe(reward)
        return EndpointFailed(f"the endpoint's reward: found {hide(shown)}. It must be a finite number.")
    reason = next((told[key] for key in ("reason", "feedback") if isinstance(told.get(key), str) and told[key]), None)
    return EndpointScore(number, None if reason is None else jsontext.shorten(reason, LONGEST_TEXT), seconds)
