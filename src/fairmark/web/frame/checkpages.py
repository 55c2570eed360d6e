"""What the pages of judge checks and of hacking reports share: a form that is planned before anything is asked, with a
file that comes along; progress, and the report."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.checks.check_calls import find_page
from fairmark.errors import ApiError
from fairmark.refusals import invalid
from fairmark.serving.wire import project, state
from fairmark.store import StoredCheck
from fairmark.trust.figures import Figure
from fairmark.web.frame import render, uploads
from fairmark.web.frame.visit import above_zero, field, form, is_partial

HISTORY = 20
"""So many earlier ones stand below the form."""


class WirePlan(Protocol):
    def wire(self) -> dict[str, Any]: ...


PlannedT = TypeVar("PlannedT", bound=WirePlan)


class PlanForm(NamedTuple, Generic[PlannedT]):
    """What stands in the form, what it would take, and what is wrong with it."""

    filled: dict[str, str]
    chosen: list[str] | None
    """What is ticked; None for all."""
    planned: PlannedT | None = None
    wrong: ApiError | None = None

    @property
    def status(self) -> int:
        return 200 if self.wrong is None else self.wrong.status

    def shown(self) -> dict[str, Any]:
        """For the template."""
        return {
            "filled": self.filled,
            "planned": None if self.planned is None else self.planned.wire(),
            "problem": "" if self.wrong is None else self.wrong.message,
        }


def read_form(request: Request, names: Collection[str], ticked: str) -> PlanForm[Any]:
    """The texts of these fields, and all values of the one that is ticked."""
    chosen = [value for value in form(request).getlist(ticked) if isinstance(value, str)]
    return PlanForm({name: field(request, name).strip() for name in names}, chosen)


async def plan_form(
    request: Request,
    asked: PlanForm[PlannedT],
    plan: Callable[[PlanForm[PlannedT]], Awaitable[PlannedT]],
    beside_file: Mapping[str, str] | None = None,
) -> PlanForm[PlannedT]:
    """The form, planned. A file that comes along is kept, unless nothing can be planned with it; `beside_file` is what
    its coming says of other fields."""
    upload = uploads.uploaded(request, "file")
    kept = None
    try:
        if upload is not None:
            kept = await uploads.keep(request, upload)
            asked = asked._replace(filled={**asked.filled, "file_id": kept.id, **(beside_file or {})})
        return asked._replace(planned=await plan(asked))
    except ApiError as error:
        if kept is not None:
            await state(request).store.files.delete(project(request), kept.id)
            asked.filled["file_id"] = ""
        return asked._replace(wrong=error)


def read_numbers(filled: Mapping[str, str], names: Collection[str]) -> dict[str, float]:
    """What those of these fields say that say something. Raises ApiError."""
    return {name: _number(name, filled[name]) for name in names if filled[name]}


def _number(name: str, text: str) -> float:
    number = above_zero(text)
    if number is None:
        raise invalid(f"{name}: found {jsontext.quote(text)}. It takes a number above 0.", name)
    return number


def progress_part(request: Request, template: str, check: StoredCheck) -> Response | None:
    """The part of a check's page that changes, where that is asked for. Once it has ended, the page is loaded anew."""
    if not is_partial(request):
        return None
    part = render.part(request, template, "live", check=check)
    if not check.is_active:
        part.headers["hx-refresh"] = "true"
    return part


async def find_report(request: Request, check: StoredCheck) -> dict[str, Any] | None:
    """None as long as there is none."""
    stored = await state(request).store.checks.report(check)
    return None if stored is None else jsontext.decode(stored)


async def report_file(request: Request, check: StoredCheck, name: str) -> Response:
    """The report as a file: one page that stands alone."""
    page = await find_page(state(request).store, check)
    headers = {"content-disposition": f'attachment; filename="{name}-{check.id[-8:]}.html"'}
    return Response(page, 200, headers, "text/html")


def drawn(figure: Figure) -> dict[str, Any]:
    return {"caption": figure.caption, "svg": Markup(figure.svg)}  # noqa: S704  # our own drawing, its words escaped
