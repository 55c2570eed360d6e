"""Templates into answers. Everything is escaped, and a name that is not there is an error, not a gap."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairmark.evals.local import is_local, local_words
from fairmark.web.frame import assets, show
from fairmark.web.frame.guard import TOKEN_FIELD
from fairmark.web.frame.visit import visit

TEMPLATES = Path(__file__).parents[1] / "templates"


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals["asset"] = assets.url
    made.filters.update(show.FILTERS)
    made.filters["local_words"] = local_words
    made.tests["local_run"] = is_local
    return made


def page(request: Request, template: str, status: int = 200, **context: Any) -> Response:
    """A whole page. Besides `context` its template knows `visit`, `request` and `csrf`, the field that forms need."""
    seen = visit(request)
    seen.flash_shown = bool(seen.flash)
    text = environment().get_template(template).render(_common(request), **context)
    return HTMLResponse(_encode(text), status)


def part(request: Request, template: str, block: str, status: int = 200, **context: Any) -> Response:
    """One block of a page's template, for HTMX to put in its place."""
    source = environment().get_template(template)
    made = source.new_context({**_common(request), **context})
    return HTMLResponse(_encode("".join(source.blocks[block](made))), status)


def _common(request: Request) -> dict[str, Any]:
    seen = visit(request)
    token = seen.token()
    field = Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN_FIELD, token)
    return {"request": request, "visit": seen, "csrf_token": token, "csrf": field}


def _encode(text: str) -> bytes:
    """Half an emoji, which users can send, is shown as a question mark."""
    return text.encode("utf-8", "replace")
