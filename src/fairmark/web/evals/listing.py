"""The list of evals, and what is there instead before the first one: what Fairmark is, and the demo."""

import zlib
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from fairmark.serving.wire import base_url, project, state
from fairmark.store import Eval, RecentRuns
from fairmark.web.evals.sparkline import sparkline
from fairmark.web.frame import render
from fairmark.web.frame.visit import is_partial, redirect

EVALS_SHOWN = 25
RUNS_SHOWN = 20
"""How many runs a sparkline goes back."""


async def home(request: Request) -> Response:
    return redirect("/evals")


async def list_(request: Request) -> Response:
    words = request.query_params.get("q", "").strip()
    at = _page_number(request.query_params.get("page", ""))
    store = state(request).store
    matches = await store.evals.search(project(request), words, EVALS_SHOWN, (at - 1) * EVALS_SHOWN)
    if matches.count == 0 and not words and not is_partial(request):
        return render.page(request, "evals/welcome.html", base_url=base_url(request))
    recent = await store.recent.of([eval_.seq for eval_ in matches.evals], RUNS_SHOWN)
    here = _address(words, at)
    rows = [_row(eval_, recent.get(eval_.seq)) for eval_ in matches.evals]
    context: dict[str, Any] = {
        "evals": rows,
        "warnings": await store.recent.warnings([row["graded"].id for row in rows if row["graded"]]),
        "is_active": any(run.is_active for each in recent.values() for run in each.runs),
        "here": here,
        "live_id": f"live-{zlib.crc32(here.encode()):08x}",
        "count": matches.count,
        "words": words,
        "first": (at - 1) * EVALS_SHOWN + 1,
        "previous": _address(words, at - 1) if at > 1 else "",
        "next": _address(words, at + 1) if at * EVALS_SHOWN < matches.count else "",
    }
    if is_partial(request):
        return render.part(request, "evals/listing.html", "results", **context)
    return render.page(request, "evals/listing.html", **context)


def _row(eval_: Eval, recent: RecentRuns | None) -> dict[str, Any]:
    runs = recent.runs if recent else []
    graded = [run for run in runs if run.status != "queued" and run.pass_rate is not None]
    rates = [run.pass_rate for run in graded if run.pass_rate is not None]
    return {
        "seq": eval_.seq,
        "id": eval_.id,
        "name": eval_.name or eval_.id,
        "imported": eval_.imported,
        "criteria": len(eval_.criteria),
        "runs": recent.count if recent else 0,
        "last": runs[-1] if runs else None,
        "graded": graded[-1] if graded else None,
        "sparkline": sparkline(rates),
    }


def _page_number(text: str) -> int:
    """What is no page is the first one."""
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) <= 6 else 1


def _address(words: str, at: int) -> str:
    query = {**({"q": words} if words else {}), **({"page": at} if at > 1 else {})}
    return f"/evals?{urlencode(query)}" if query else "/evals"
