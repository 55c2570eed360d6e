"""The playground: any grader on any payload, tried here, and the same as commands and code to take away."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidGrader, InvalidSettings
from fairmark.graders import all_kinds
from fairmark.judges.configured import configured
from fairmark.judges.models import read_registry
from fairmark.parse import read
from fairmark.refusals import not_found, wrong_type
from fairmark.serving.wire import answer, base_url, read_object, state
from fairmark.web.frame import render
from fairmark.web.frame.visit import visit
from fairmark.web.graders import forms, snippets
from fairmark.web.graders.payloads import read_payloads

FIRST = "string_check"
ANY_MODEL = "gpt-4.1-mini"
"""What examples name where no model is configured: what most grader files name."""
COMMANDS = (
    ("curl", "curl", snippets.curl),
    ("library", "Python", snippets.library),
    ("client", "OpenAI client", snippets.client),
    ("command", "Command line", snippets.command),
)
"""Name, heading, and what writes it."""
# What a new grader's form leaves to its writer.
_MORE: dict[str, dict[str, Any]] = {
    "binary_judge": {"criteria": "The reply names the right city, and says nothing that is not true."},
    "endpoint": {"url": "http://127.0.0.1:8100"},
}


async def show(request: Request) -> Response:
    kind = request.query_params.get("example", FIRST)
    grader, item, sample = _example(request, kind)
    return render.page(
        request,
        "graders/playground.html",
        kind=kind,
        groups=_groups(),
        title=forms.title,
        grader=jsontext.encode_pretty(grader),
        item=jsontext.encode_pretty(item),
        sample=sample,
        commands=_commands(request, grader, item, sample),
    )


async def example(request: Request) -> Response:
    """One kind's grader and payload, as they are to stand in the editors."""
    grader, item, sample = _example(request, request.path_params["kind"])
    payload = [jsontext.encode_pretty(item), sample]
    return answer({"grader": jsontext.encode_pretty(grader), "payloads": [payload]})


async def commands(request: Request) -> Response:
    """The commands for what stands in the editors; none while that cannot be read. Nothing is graded or kept."""
    body = await read_object(request)
    text = body.get("grader")
    if not isinstance(text, str):
        raise wrong_type("grader", "a string: the grader's JSON as it is written", text)
    try:
        grader = read(text)
        item, sample = read_payloads([body.get("payload")])[0]
    except (InvalidGrader, ApiError):  # somebody is still typing; what is wrong is told where it stands
        return answer({"commands": None})
    return answer({"commands": {name: words for name, _, words in _commands(request, grader, item, sample)}})


def _commands(request: Request, grader: Any, item: Any, sample: Any) -> list[tuple[str, str, str]]:
    visitor = visit(request).visitor
    needs_key = visitor is not None and visitor.key_id is not None
    call = snippets.GradingCall(grader, item, sample, base_url(request), needs_key)
    return [(name, heading, write(call)) for name, heading, write in COMMANDS]


def _example(request: Request, name: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    kind = all_kinds().get(name) if name in {kind_name for _, names in _groups() for kind_name in names} else None
    if kind is None:
        raise not_found("example", name)
    grader = {**forms.start(name, kind, _models(request)), **_MORE.get(name, {})}
    return {"type": name, "name": name.replace("_", " "), **grader}, *forms.payload(name)


def _models(request: Request) -> list[str]:
    """Those that have a name; where only a provider is known that takes every name, or none, the usual one."""
    try:
        is_any = read_registry().default is not None
        return [*([ANY_MODEL] if is_any else []), *configured(state(request).settings.data_folder), ANY_MODEL]
    except InvalidSettings:
        return [ANY_MODEL]


def _groups() -> list[tuple[str, list[str]]]:
    """The kinds under their headings, but for those that have nothing to compute."""
    groups = [
        (heading, [name for name, kind in kinds if kind.grades]) for heading, _, kinds in forms.groups(all_kinds())
    ]
    return [(heading, names) for heading, names in groups if names]
