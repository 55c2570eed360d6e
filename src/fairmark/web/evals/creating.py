"""The form that makes an eval: a name, criteria that are registered graders or JSON, and what the items look like."""

from typing import Any, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.checks.standing import of_graders
from fairmark.errors import ApiError, InvalidGrader
from fairmark.evals.criteria import grader_of
from fairmark.evals.eval_calls import new_eval, warnings_about
from fairmark.graders import all_kinds, grades_by_itself
from fairmark.judges.configured import configured
from fairmark.parse import parse
from fairmark.references import TYPE as REGISTERED
from fairmark.serving.wire import project, state
from fairmark.store import Eval, Grader
from fairmark.web.evals import criteria
from fairmark.web.frame import render
from fairmark.web.frame.visit import field, form, redirect
from fairmark.web.graders import forms

ANY_ITEM: dict[str, Any] = {"type": "object"}
"""The schema of items that nobody described: all are welcome."""
SPECIMENS: dict[str, dict[str, Any]] = {
    "Exact match": {
        "type": "string_check",
        "name": "exact",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.answer }}",
        "operation": "eq",
    },
    "Nearly the same": {
        "type": "text_similarity",
        "name": "similar",
        "input": "{{ sample.output_text }}",
        "reference": "{{ item.answer }}",
        "evaluation_metric": "fuzzy_match",
        "pass_threshold": 0.8,
    },
    "A judge": {
        "type": "score_model",
        "name": "judge",
        "model": "gpt-4.1-mini",
        "input": [
            {
                "role": "user",
                "content": "Question: {{ item.question }}\nReference: {{ item.answer }}\n"
                "Answer: {{ sample.output_text }}\n\nHow right is the answer, from 0 to 1?",
            }
        ],
        "range": [0, 1],
        "pass_threshold": 0.7,
    },
    "Python": {
        "type": "python",
        "name": "code",
        "source": 'def grade(sample, item):\n    return 1.0 if item["answer"] in sample["output_text"] else 0.0\n',
        "pass_threshold": 0.5,
    },
}
"""What to begin with."""


async def show(request: Request) -> Response:
    query = request.query_params
    of = await state(request).store.evals.get(project(request), query["from"]) if "from" in query else None
    return await _page(request, [query["grader"]] if "grader" in query else [], of=of)


async def create(request: Request) -> Response:
    picked = [key for key in form(request).getlist("picked") if isinstance(key, str)]
    references: list[Any] = [{"type": REGISTERED, "key": key} for key in picked]
    errors: dict[str, str] = {}
    pasted = _pasted(field(request, "graders"), errors)
    schema = _schema(field(request, "schema"), errors)
    if not errors and not references and not pasted:
        errors["graders"] = "An eval needs a criterion: pick a registered grader, or paste one as JSON."
    if errors:
        return await _page(request, picked, errors)
    of_logs = _of_logs(request)
    config: dict[str, Any] = {"type": "custom", "item_schema": schema, "include_sample_schema": True}
    if of_logs:
        config = {"type": "logs", "metadata": of_logs.pairs}
    body = {"name": field(request, "name").strip(), "data_source_config": config}
    body["testing_criteria"] = references + pasted
    shared = state(request)
    try:
        made = await new_eval(shared.store, shared.registry, project(request), body)
    except ApiError as error:
        return await _page(request, picked, _told(error, len(references), len(pasted)))
    to = f"/evals/{made.id}/logs?{urlencode(of_logs.query)}" if of_logs else f"/evals/{made.id}"
    warnings = await warnings_about(made, shared.registry, project(request))
    mind = f" Mind: {'; '.join(warnings)}" if warnings else ""
    return redirect(to, f"The eval is there. Start its first run.{mind}")


class _OfLogs(NamedTuple):
    """What of the log an eval is to be about, where it is made from there."""

    query: dict[str, str]
    pairs: dict[str, str]


def _of_logs(request: Request) -> _OfLogs | None:
    """As the log's page has it in its address: metadata is key=value, with commas between."""
    asked = {name: request.query_params.get(name, "") for name in ("logs", "kind", "model", "metadata")}
    if not asked.pop("logs"):
        return None
    parts = (part.partition("=") for part in asked["metadata"].split(",") if part.strip())
    pairs = {key.strip(): value.strip() for key, _, value in parts}
    return _OfLogs({"kind": asked["kind"], "model": asked["model"]}, pairs)


def _pasted(text: str, errors: dict[str, str]) -> list[Any]:
    """The graders in a text: one, or a list of them."""
    if not text.strip():
        return []
    try:
        value = jsontext.decode(text)
    except jsontext.NotJson as error:
        errors["graders"] = f"This is not JSON: {error}."
        return []
    return value if isinstance(value, list) else [value]


def _schema(text: str, errors: dict[str, str]) -> dict[str, Any]:
    if not text.strip():
        return ANY_ITEM
    try:
        schema = jsontext.decode(text)
    except jsontext.NotJson as error:
        errors["schema"] = f"This is not JSON: {error}."
        return ANY_ITEM
    if not isinstance(schema, dict):
        errors["schema"] = f"It takes a JSON schema, which is an object. Found {jsontext.describe(schema)}."
        return ANY_ITEM
    return schema


def _told(error: ApiError, references: int, pasted: int) -> dict[str, str]:
    """The API's problems at the fields that they are about, counted as the user sees them."""
    problems = error.extra.get("problems") or [{"path": error.param or "", "message": error.message}]
    told: dict[str, list[str]] = {}
    for problem in problems:
        path, message = str(problem["path"]), str(problem["message"])
        for index in range(references + pasted):
            start = f"testing_criteria[{index}]"
            if path != start and not path.startswith((f"{start}.", f"{start}[")):
                continue
            rest = path.removeprefix(start).removeprefix(".")
            if index < references:
                told.setdefault("picked", []).append(message)
            else:
                which = f"Grader {index - references + 1}, " if pasted > 1 else ""
                told.setdefault("graders", []).append(f"{which}{rest}: {message}" if rest else f"{which}{message}")
            break
        else:
            told.setdefault("schema" if path.startswith("data_source_config") else "graders", []).append(message)
    return {at: "\n".join(messages) for at, messages in told.items()}


def _copied(eval_: Eval) -> dict[str, str]:
    """The form filled in with what another eval is, to be changed."""
    graders = [grader_of(criterion) for criterion in eval_.criteria]
    match eval_.data_source_config:
        case {"schema": {"properties": {"item": {**schema}}}} | {"item_schema": {**schema}} if schema != ANY_ITEM:
            items = jsontext.encode_pretty(schema)
        case _:
            items = ""
    return {
        "name": f"{eval_.name or eval_.id}, copy"[:256],
        "graders": jsontext.encode_pretty(graders[0] if len(graders) == 1 else graders),
        "schema": items,
    }


async def _page(
    request: Request, picked: list[str], errors: dict[str, str] | None = None, of: Eval | None = None
) -> Response:
    """`of`: the eval that the form begins with."""
    shared = state(request)
    registered = [grader for grader in await shared.store.graders.all(project(request)) if _grades(grader)]
    standings = await of_graders(shared.store, shared.registry, project(request), registered)
    texts = {name: field(request, name) if errors else "" for name in ("name", "graders", "schema")}
    if of is not None:
        texts = _copied(of)
    return render.page(
        request,
        "evals/creating.html",
        400 if errors else 200,
        registered=[
            (grader, list(criteria.checks(grader.grader)), standing)
            for grader, standing in zip(registered, standings, strict=True)
        ],
        picked=picked,
        is_new=errors is None,
        of_logs=_of_logs(request),
        action=f"/evals/new?{request.url.query}" if request.url.query else "/evals/new",
        errors=dict.fromkeys(("picked", "graders", "schema"), "") | (errors or {}),
        specimens={name: jsontext.encode_pretty(grader) for name, grader in _specimens(request).items()},
        kinds=[
            (heading, words, [(name, kind) for name, kind in kinds if kind.grades])
            for heading, words, kinds in forms.groups(all_kinds())
        ],
        title=forms.title,
        **texts,
    )


def _specimens(request: Request) -> dict[str, dict[str, Any]]:
    """With a judge that exists here, where there is one."""
    models = list(configured(state(request).settings.data_folder))
    return {
        name: {**grader, "model": models[0]} if "model" in grader and models else grader
        for name, grader in SPECIMENS.items()
    }


def _grades(registered: Grader) -> bool:
    """Whether it can be a criterion: not where its scores are pushed in."""
    try:
        return grades_by_itself(parse(registered.grader))
    except InvalidGrader:  # such as a multi of references: the eval will know
        return True
