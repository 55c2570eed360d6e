"""The form that makes an eval: a name, criteria that are registered graders or JSON, and what the items look like."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import ApiError, InvalidGrader
from fairmark.evals.eval_calls import new_eval
from fairmark.graders import grades_by_itself
from fairmark.parse import parse
from fairmark.references import TYPE as REGISTERED
from fairmark.serving.wire import project, state
from fairmark.store import Grader
from fairmark.web.evals import criteria
from fairmark.web.frame import render
from fairmark.web.frame.visit import field, form, redirect

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
    return await _page(request, [request.query_params["grader"]] if "grader" in request.query_params else [])


async def create(request: Request) -> Response:
    picked = [each for each in form(request).getlist("picked") if isinstance(each, str)]
    references: list[Any] = [{"type": REGISTERED, "key": key} for key in picked]
    errors: dict[str, str] = {}
    pasted = _pasted(field(request, "graders"), errors)
    schema = _schema(field(request, "schema"), errors)
    if not errors and not references and not pasted:
        errors["graders"] = "An eval needs a criterion: pick a registered grader, or paste one as JSON."
    if errors:
        return await _page(request, picked, errors)
    config = {"type": "custom", "item_schema": schema, "include_sample_schema": True}
    body = {"name": field(request, "name").strip(), "data_source_config": config}
    body["testing_criteria"] = references + pasted
    shared = state(request)
    try:
        made = await new_eval(shared.store, shared.registry, project(request), body)
    except ApiError as error:
        return await _page(request, picked, _told(error, len(references), len(pasted)))
    return redirect(f"/evals/{made.id}", "The eval is there. Start its first run.")


def _pasted(text: str, errors: dict[str, str]) -> list[Any]:
    """The graders in a text: one, or a list of them."""
    if not text.strip():
        return []
    try:
        found = jsontext.decode(text)
    except jsontext.NotJson as error:
        errors["graders"] = f"This is not JSON: {error}."
        return []
    return found if isinstance(found, list) else [found]


def _schema(text: str, errors: dict[str, str]) -> dict[str, Any]:
    if not text.strip():
        return ANY_ITEM
    try:
        found = jsontext.decode(text)
    except jsontext.NotJson as error:
        errors["schema"] = f"This is not JSON: {error}."
        return ANY_ITEM
    if not isinstance(found, dict):
        errors["schema"] = f"It takes a JSON schema, which is an object. Found {jsontext.describe(found)}."
        return ANY_ITEM
    return found


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


async def _page(request: Request, picked: list[str], errors: dict[str, str] | None = None) -> Response:
    registered = await state(request).store.graders.all(project(request))
    texts = {name: field(request, name) if errors else "" for name in ("name", "graders", "schema")}
    return render.page(
        request,
        "evals/creating.html",
        400 if errors else 200,
        registered=[(each, list(criteria.checks(each.grader))) for each in registered if _grades(each)],
        picked=picked,
        is_new=errors is None,
        errors=dict.fromkeys(("picked", "graders", "schema"), "") | (errors or {}),
        specimens={name: jsontext.encode_pretty(grader) for name, grader in SPECIMENS.items()},
        **texts,
    )


def _grades(registered: Grader) -> bool:
    """Whether it can be a criterion: not where its scores are pushed in."""
    try:
        return grades_by_itself(parse(registered.grader))
    except InvalidGrader:  # such as a multi of references: the eval will know
        return True
