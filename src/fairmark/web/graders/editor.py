"""New graders and changes to old ones: the editor page, what it asks while somebody types, and saving."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.endpoints import Online, aprobe
from fairmark.errors import ApiError, FairmarkError, InvalidGrader, VersionConflict
from fairmark.graders import Kind, all_kinds, unusable_kinds
from fairmark.graders.function import Check, CheckFailed, static_checks
from fairmark.judges.configured import configured
from fairmark.parse import read
from fairmark.references import TYPE
from fairmark.refusals import cannot_keep, missing, wrong_type
from fairmark.registry.functions import acheck_function
from fairmark.registry.keeping import functions_in
from fairmark.serving.grading import validation
from fairmark.serving.registering import registration
from fairmark.serving.wire import answer, project, read_object, state
from fairmark.store import Grader
from fairmark.web.frame import render
from fairmark.web.frame.visit import FLASH_COOKIE, FLASH_LENGTH, field, redirect
from fairmark.web.graders import forms
from fairmark.web.graders.registered import address, find

CHECKS = ("size", "syntax", "structure", "signature", "execution", "test_run")
"""What a function grader has to pass, in this order. The last two run it."""


async def pick(request: Request) -> Response:
    return render.page(
        request, "graders/pick.html", groups=forms.groups(all_kinds()), title=forms.title, unusable=unusable_kinds()
    )


async def new(request: Request) -> Response:
    name, kind = _kind(request)
    base = request.query_params.get("from", "")
    copied = await state(request).store.graders.get(project(request), base) if base else None
    models = list(configured(state(request).settings.data_folder))
    grader = forms.start(name, kind, models) if copied is None else copied.grader
    return _page(request, name, kind, grader, models, copied_from=copied)


async def edit(request: Request) -> Response:
    grader = await find(request)
    name = str(grader.grader["type"])
    kind = all_kinds().get(name)
    return _page(
        request, name, kind, grader.grader, list(configured(state(request).settings.data_folder)), grader=grader
    )


def _page(
    request: Request,
    name: str,
    kind: Kind | None,
    fields: dict[str, Any],
    models: list[str],
    grader: Grader | None = None,
    copied_from: Grader | None = None,
) -> Response:
    """The editor. `grader` is the one that is changed; without a `kind`, whose package is gone, there is no form."""
    item, sample = forms.payload(name)
    return render.page(
        request,
        "graders/edit.html",
        grader=grader,
        address=address(grader) if grader else "",
        kind=name,
        title=forms.title(name),
        summary=kind.summary if kind else "",
        fields=forms.fields(name, kind) if kind else [],
        names=list(kind.spec.model_fields) if kind else [],
        json=jsontext.encode_pretty(fields),
        models=models,
        copied_from=copied_from,
        payload_item=jsontext.encode_pretty(item),
        payload_sample=sample,
        checks=CHECKS if name == "function" else (),
    )


async def create(request: Request) -> Response:
    key, name, description = field(request, "key").strip(), field(request, "name").strip(), _description(request)
    if not key:
        raise missing("key", "It takes a short name for code and commands, such as exact-match.")
    try:
        kept = await registration(request).create(
            project(request), key, field(request, "grader"), name or key, description
        )
    except FairmarkError as error:
        raise cannot_keep(error) from None
    return _gone_on(request, address(kept.grader), _words(f"{kept.grader.name} is there.", kept.warnings))


async def update(request: Request) -> Response:
    grader = await find(request)
    version = field(request, "version")
    expected = int(version) if version.isascii() and version.isdecimal() and len(version) <= 9 else None
    try:
        kept = await registration(request).update(
            project(request),
            grader.key,
            grader=field(request, "grader") or UNSET,
            name=field(request, "name").strip() or grader.key,
            description=_description(request),
            expected=expected,
        )
    except VersionConflict as error:
        raise _conflict(error, grader, expected) from None
    except FairmarkError as error:
        raise cannot_keep(error) from None
    if kept is None:
        raise ApiError(404, f"The grader {jsontext.quote(grader.key)} has been deleted meanwhile.", code="not_found")
    now = kept.grader.version
    words = f"Saved as version {now}." if now != grader.version else "Saved. Its JSON is as it was."
    return _gone_on(request, address(grader), _words(words, kept.warnings))


def _conflict(error: VersionConflict, grader: Grader, yours: int | None) -> ApiError:
    told = cannot_keep(error)
    assert isinstance(told, ApiError)  # noqa: S101  # it is one for every error of the registry's own
    told.message = f"Somebody else has saved version {grader.version} while you were changing version {yours}."
    told.extra["conflict"] = {
        "yours": yours,
        "now": grader.version,
        "url": f"{address(grader)}/versions?old={yours}&new={grader.version}",
    }
    return told


async def check(request: Request) -> Response:
    """What is wrong with a grader while somebody writes it. With `sandbox`, function graders are run too."""
    body = await read_object(request)
    text = body.get("grader")
    if not isinstance(text, str):
        raise wrong_type("grader", "a string: the grader's JSON as it is written", text)
    report = await validation(state(request), project(request), text)
    problems = [(problem.path, problem.message) for problem in report.errors]
    functions: list[dict[str, Any]] = []
    try:
        grader = read(text)
    except InvalidGrader:
        pass  # told already
    else:
        if grader.get("type") == TYPE:
            problems.append(("$.type", "a registered grader cannot be a reference to another."))
        for path, source in functions_in(grader):
            if body.get("sandbox") and not problems:
                checks = (await acheck_function(source, project(request))).checks
            else:
                checks = list(_static(source))
            functions.append({"path": path, "checks": [check._asdict() for check in checks]})
            if not checks[-1].passed and not any(where == path for where, _ in problems):
                problems.append((path, f"{checks[-1].name}: {_last_line(checks[-1].message)}"))
    return answer(
        {
            "valid": not problems,
            "problems": [{"path": path, "message": message} for path, message in problems],
            "warnings": [_warning(warning) for warning in report.warnings],
            "functions": functions,
        }
    )


def _static(source: str) -> Iterator[Check]:
    try:
        yield from static_checks(source)
    except CheckFailed as failure:
        yield failure.check


def _last_line(message: str) -> str:
    """What a traceback comes down to; the whole of it stands with its check."""
    return next(reversed(message.strip().splitlines()), "")


def _warning(text: str) -> dict[str, str]:
    path, _, message = text.partition(": ")
    return {"path": path, "message": message} if path.startswith("$") else {"path": "$", "message": text}


async def test_endpoint(request: Request) -> Response:
    body = await read_object(request)
    url, headers = body.get("url"), body.get("headers") or {}
    if not isinstance(url, str) or not isinstance(headers, dict):
        raise wrong_type("url", "a string", url)
    reply = await aprobe(url, headers)
    if isinstance(reply, Online):
        named = " ".join(filter(None, (reply.name, reply.version)))
        words = f"It answers: {named}." if named else "It answers."
        return answer({"online": True, "words": f"{words} {reply.description}".strip()})
    return answer({"online": False, "words": reply.error})


def _kind(request: Request) -> tuple[str, Kind]:
    name = request.path_params["kind"]
    kind = all_kinds().get(name)
    if kind is None:
        raise ApiError(404, f"There is no kind {jsontext.quote(name)} of grader on this server.", code="not_found")
    return name, kind


def _description(request: Request) -> str | None:
    return field(request, "description").strip() or None


def _words(done: str, warnings: list[str]) -> str:
    return f"{done} Mind: {'; '.join(warning.removeprefix('$.') for warning in warnings)}" if warnings else done


def _gone_on(request: Request, to: str, flash: str) -> Response:
    """Where to go on: browsers are led there, and our script is told."""
    if "text/html" in request.headers.get("accept", ""):
        return redirect(to, flash)
    told = answer({"location": to})
    told.set_cookie(FLASH_COOKIE, quote(flash[:FLASH_LENGTH]), max_age=60, httponly=True, samesite="lax")
    return told
