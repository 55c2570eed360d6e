"""What projects may take, on the page of keys: shown, and changed by those who look after them."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark.errors import ApiError, InvalidData, InvalidProject
from fairmark.serving.access import OPEN_PROJECT
from fairmark.serving.wire import state
from fairmark.store import Allowance
from fairmark.web.frame.visit import field, redirect

FIELDS = (
    ("weight", "Weight", "Its part of what is scarce, against other projects that want some; 1 is usual.", 1),
    ("requests_at_once", "Requests at once", "", 1),
    ("tokens_a_day", "Tokens a day", "Of models, in UTC.", 1),
    ("dollars_a_day", "Dollars a day", "For models, in UTC.", 1),
    ("rows_queued", "Rows queued", "Of runs that wait to be graded.", 1),
    ("storage_bytes", "Storage, MB", "Files and stored completions.", 1_000_000),
)
"""Name, label, help, and how many of the stored unit one of the form's is."""


async def shown(request: Request, projects: set[str]) -> dict[str, Any]:
    """What the page says of limits: of each project, what it may and what it takes."""
    limiter = state(request).limits
    await limiter.look()
    use = await limiter.use()
    rows = []
    for project in sorted({OPEN_PROJECT, *projects, *limiter.limits}):
        limits = limiter.limits.get(project, Allowance())
        cells = [
            {"name": name, "label": label, "help": help_text, "limit": _text(getattr(limits, name), unit)}
            | {"use": _text(use[project][name], unit) if project in use and name in use[project] else ""}
            for name, label, help_text, unit in FIELDS
        ]
        rows.append({"project": project, "cells": cells, "is_limited": project in limiter.limits})
    return {"limits": rows}


async def change(request: Request) -> Response:
    """For those who may; `keys` has seen to it."""
    project = field(request, "project").strip()
    try:
        values = {name: _number(label, field(request, name), unit) for name, label, _, unit in FIELDS}
        values["weight"] = 1.0 if values["weight"] is None else values["weight"]
        for name in values.keys() - {"weight", "dollars_a_day"}:
            values[name] = _whole(values[name])
        await state(request).store.limits.set(project, Allowance(**values))  # type: ignore[arg-type]
    except (InvalidData, InvalidProject) as error:
        raise ApiError(400, str(error), code="invalid_limit") from None
    return redirect("/keys", f"The limits of {project} are set.")


def _number(label: str, text: str, unit: int) -> float | None:
    if not text.strip():
        return None
    try:
        return float(text.replace(",", "")) * unit
    except ValueError:
        raise InvalidData(f"{label}: found {text!r}. It takes a number, or nothing for no limit.") from None


def _whole(value: float | None) -> int | None:
    if value is None:
        return None
    if not abs(value) < 2**63:  # also what is no number
        raise InvalidData("a limit has at most 18 digits.")
    return int(value)


def _text(value: float | None, unit: int) -> str:
    if value is None:
        return ""
    shown_value = value / unit
    return f"{shown_value:g}" if shown_value != int(shown_value) else f"{int(shown_value):,}"
