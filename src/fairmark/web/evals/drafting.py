"""What the form of a new eval asks while somebody fills it in: forms of kinds, what is wrong, what was pasted."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidData, InvalidGrader
from fairmark.evals.criteria import new_criteria
from fairmark.graders import all_kinds
from fairmark.judges.configured import configured
from fairmark.refusals import invalid, wrong_type
from fairmark.serving.grading import validation
from fairmark.serving.wire import answer, project, read_object, state
from fairmark.web.evals import pasting
from fairmark.web.frame import render
from fairmark.web.graders import forms

MOST_WARNED = 20
"""Of as many graders the warnings are looked for while somebody types."""


async def kind_form(request: Request) -> Response:
    """The controls of one kind, for a criterion, and what a new one begins with."""
    name = request.path_params["kind"]
    kind = all_kinds().get(name)
    if kind is None:
        raise ApiError(404, f"There is no kind {jsontext.quote(name)} of grader on this server.", code="not_found")
    models = list(configured(state(request).settings.data_folder))
    return render.part(
        request,
        "evals/criterion-form.html",
        "form",
        kind=name,
        title=forms.title(name),
        summary=kind.summary,
        fields=forms.fields(name, kind),
        names=["type", "name", *kind.spec.model_fields],
        start=forms.start(name, kind, models),
        models=models,
    )


async def check(request: Request) -> Response:
    """What is wrong with the graders as they stand: problems by the grader's place, and what to mind."""
    body = await read_object(request)
    text = body.get("graders")
    if not isinstance(text, str):
        raise wrong_type("graders", "a string: the graders' JSON as it is written", text)
    if not text.strip():
        return answer({"problems": []})
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        return answer({"problems": [_problem(None, "$", f"This is not JSON: {error}.", False)]})
    graders = value if isinstance(value, list) else [value]
    problems: list[dict[str, Any]] = []
    for place, grader in enumerate(graders):
        try:
            await new_criteria([grader], partial(state(request).registry.expand, project(request)))
        except InvalidGrader as error:
            problems += [
                _problem(place, f"${problem.path.removeprefix('[0]')}", problem.message, False)
                for problem in error.problems
            ]
            continue
        if place < MOST_WARNED:
            report = await validation(state(request), project(request), jsontext.encode(grader))
            problems += [_problem(place, *_placed(warning), True) for warning in report.warnings]
    return answer({"problems": problems})


def _problem(grader: int | None, path: str, message: str, is_warning: bool) -> dict[str, Any]:
    return {"grader": grader, "path": path, "message": message, "isWarning": is_warning}


def _placed(warning: str) -> tuple[str, str]:
    path, _, message = warning.partition(": ")
    return (path, message) if path.startswith("$") else ("$", warning)


async def paste(request: Request) -> Response:
    """What the form is to hold of what was pasted."""
    pasted = await pasted_text(request)
    if pasted.what == "run":
        raise invalid("This is a run, not an eval. Open its eval, choose “Start a run”, and paste it there.", "text")
    body = pasted.value if pasted.what == "eval" else {"testing_criteria": pasted.value}
    keys, graders = pasting.split_references(body.get("testing_criteria") or [])
    config = body.get("data_source_config") or {}
    schema = config.get("item_schema") if isinstance(config, dict) else None
    name = body.get("name")
    left = [member for member in body if member not in ("name", "testing_criteria", "data_source_config")]
    return answer(
        {
            "what": pasted.what,
            "name": name if isinstance(name, str) else "",
            "picked": keys,
            "graders": _written([_without_id(grader) for grader in graders]),
            "schema": jsontext.encode_pretty(schema) if isinstance(schema, dict) and schema else "",
            "words": _words(len(keys) + len(graders), left),
        }
    )


async def pasted_text(request: Request) -> pasting.Pasted:
    """Raises ApiError with what is wrong with it."""
    text = (await read_object(request)).get("text")
    if not isinstance(text, str):
        raise wrong_type("text", "a string: what was pasted", text)
    if len(text) > pasting.LONGEST:
        raise invalid(f"Found {len(text):,} characters. At most {pasting.LONGEST:,} can be pasted.", "text")
    try:
        return pasting.read(text)
    except InvalidData as error:
        raise invalid(str(error), "text") from None


def _written(graders: list[Any]) -> str:
    return jsontext.encode_pretty(graders[0] if len(graders) == 1 else graders) if graders else ""


def _without_id(grader: Any) -> Any:
    """As it is sent, also where it was copied from an answer, in which each has an id."""
    return {key: value for key, value in grader.items() if key != "id"} if isinstance(grader, dict) else grader


def _words(criteria: int, left: list[str]) -> str:
    told = f"Filled in: {criteria} {'criterion' if criteria == 1 else 'criteria'}."
    return f"{told} Left out: {', '.join(left[:5])}." if left else told
