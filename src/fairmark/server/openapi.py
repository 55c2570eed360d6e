"""The OpenAPI document, made from the table of routes, and a page that shows it without any help from outside."""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairmark.evals.run_calls import ITEM_STATUSES, STATUSES
from fairmark.server.evals import ORDERED_BY
from fairmark.server.files import MOST_LISTED
from fairmark.server.schemas import EXAMPLES, schemas
from fairmark.server.schemas.shapes import STRING, ref
from fairmark.serving.lists import MOST, ORDERS
from fairmark.serving.wire import answer
from fairmark.trust.labelled import KINDS

if TYPE_CHECKING:
    from fairmark.server.routes import Operation


def _limit(most: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 1, "maximum": most}
    return {"name": "limit", "description": "How many entries at most.", "schema": schema}


def _status(words: Iterable[str]) -> dict[str, Any]:
    return {"name": "status", "description": "Only entries of this status.", "schema": {"enum": list(words)}}


_QUERY: dict[str, dict[str, Any]] = {
    "after": {"description": "The id of the last entry seen, deleted or not: what comes behind it.", "schema": STRING},
    "before": {
        "description": "The id of the first entry seen, deleted or not: what stands in front of it, in the same order.",
        "schema": STRING,
    },
    "limit": _limit(MOST),
    "limit_of_files": _limit(MOST_LISTED),
    "order": {"description": "By creation.", "schema": {"enum": list(ORDERS)}},
    "order_by": {"schema": {"enum": list(ORDERED_BY)}},
    "status_of_runs": _status(STATUSES),
    "status_of_items": _status(ITEM_STATUSES),
    "split": {"description": "Only rows on which several judges were not of one mind.", "schema": {"enum": ["true"]}},
    "version": {"description": "A version other than the newest.", "schema": {"type": "integer", "minimum": 1}},
    "model": {"description": "Only those of this model: the one that answered, or was asked for.", "schema": STRING},
    "metadata_of_completions": {
        "name": "metadata",
        "description": "metadata[key]=value: only those that have all of these pairs.",
        "style": "deepObject",
        "schema": {"type": "object", "additionalProperties": STRING},
    },
    "metadata": {
        "description": "metadata[key]=value: only jobs with all of these pairs. metadata=null: only those with none.",
        "style": "deepObject",
        "schema": {"type": "object", "additionalProperties": STRING},
    },
    "purpose": {"description": "Only files of this purpose.", "schema": STRING},
    "grader_of_checks": {"name": "grader", "description": "Only checks of this registered grader.", "schema": STRING},
    "eval_of_reports": {"name": "eval_id", "description": "Only reports on runs of this eval.", "schema": STRING},
    "run_id": {"description": "The id of a run: labels of its rows.", "schema": STRING},
    "other_run_id": {"description": "Of pairs: the run whose answers are b.", "schema": STRING},
    "rater": {
        "description": "Only what this rater said; of an import: whose labels those without a name are.",
        "schema": STRING,
    },
    "criterion": {"description": "The criterion that labels are about, by id or name.", "schema": STRING},
    "kind_of_labels": {"name": "kind", "description": "Only labels of this kind.", "schema": {"enum": list(KINDS)}},
    "grader": {"description": "The key of a custom grader, whose pushed scores are taken instead.", "schema": STRING},
}
"""By the words of the table of routes: the parameters' names, but for one name that means different things."""

_MEDIA = {
    "Upload": "multipart/form-data",
    "ImportUpload": "multipart/form-data",
    "Bytes": "application/octet-stream",
    "Text": "text/plain",
    "Page": "text/html",
    "LabelLines": "application/x-ndjson",
    "LabelText": "text/plain",
}


_ALSO = {
    400: "The job has ended",
    404: "There is no such model, eval, grader, run or row",
    409: "It collides with what is there: a key that is taken, a newer version, a custom grader that is to grade, "
    "labels that do not allow what is asked",
    423: "The grader is locked",
    502: "The model's server cannot be reached",
    504: "The model's server does not answer",
}


def _content(name: str) -> dict[str, Any]:
    content: dict[str, Any] = {} if name in ("Bytes", "Text", "Page", "LabelLines") else {"schema": ref(name)}
    if name in EXAMPLES:
        content["example"] = EXAMPLES[name]
    return {_MEDIA.get(name, "application/json"): content}


def _errors(operation: "Operation", public: bool) -> dict[int, str]:
    """What may go wrong: status -> what it means. A bug of ours, 500, is nothing to be promised."""
    errors = {}
    if operation.takes or operation.query:
        errors[400] = "Something in the request is wrong"
    if not public:
        errors |= {401: "The key is missing or unknown", 403: "A server without keys is asked from elsewhere"}
    if "{" in operation.path:
        errors[404] = "There is no such thing"
    errors |= {status: _ALSO[status] for status in operation.also}
    if operation.method in ("POST", "PATCH"):
        errors |= {408: "The body came too slowly", 413: "The body is too long"}
    if not public:
        errors[429] = "Too many requests with this key"
    if not public or operation.path == "/readyz":
        errors[503] = "The store cannot be reached, or the server is full or going down: try again"
    if not public and operation.method != "GET":
        errors[507] = "The disk is full"
    return errors


def _described(operation: "Operation", path: str, public: bool) -> dict[str, Any]:
    """One method on one path."""
    parts = path.split("/")
    described: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": f"{operation.method.lower()}{path.translate(_NAMES)}",
        "tags": [parts[2] if parts[1] == "v1" else "server"],
        "responses": {
            str(operation.status): {"description": operation.summary, "content": _content(operation.gives)},
            **(
                {"200": {"description": "What it would take", "content": _content(operation.or_gives)}}
                if operation.or_gives is not None
                else {}
            ),
            **{
                str(status): {"description": meaning, "content": _content("Error")}
                for status, meaning in _errors(operation, public).items()
            },
        },
    }
    # An empty parameter of a query is as good as none.
    parameters = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": STRING} for part in parts if part.startswith("{")
    ] + [{"name": name, "in": "query", "allowEmptyValue": True, **_QUERY[name]} for name in operation.query]
    if parameters:
        described["parameters"] = parameters
    if operation.takes:
        required = not getattr(operation, "does_without", False)
        described["requestBody"] = {"required": required, "content": _content(operation.takes)}
    if public:
        described["security"] = []
    return described


@cache
def document() -> dict[str, Any]:
    from fairmark import __version__
    from fairmark.server.gate import PUBLIC
    from fairmark.server.passing import CHAT, RESPONSES
    from fairmark.server.routes import HOT, OPERATIONS, Operation

    async def nobody(request: Request) -> Response:
        raise NotImplementedError

    hot = [
        Operation("POST", route.path, nobody, route.summary, route.gives, route.takes, also=route.also) for route in HOT
    ]
    paths: dict[str, Any] = {}
    for operation in (*hot, *OPERATIONS):
        path = operation.path.replace(":path}", "}")
        described = _described(operation, path, operation.path in PUBLIC)
        paths.setdefault(path, {})[operation.method.lower()] = described
    rewards = paths["/v1/rewards"]["post"]["responses"]["200"]["content"]
    rewards["application/x-ndjson"] = {"schema": ref("Result")}
    for path in (CHAT, RESPONSES):
        paths[path]["post"]["responses"]["200"]["content"]["text/event-stream"] = {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fairmark",
            "version": __version__,
            "description": "Grades what language models say. Serves OpenAI's API for graders, evals and files, and"
            " passes questions on to the models behind; the same"
            " routes also stand below /openai/v1, /openai, /openai/deployments/NAME and /api/projects/NAME/openai/v1.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "api-key": {"type": "apiKey", "in": "header", "name": "api-key"},
            },
        },
        "security": [{"bearer": []}, {"api-key": []}],
    }


_NAMES = str.maketrans({"/": "_", "{": None, "}": None, ".": "_"})


async def document_page(request: Request) -> Response:
    return answer(document())


async def docs_page(request: Request) -> Response:
    page, policy = _docs()
    return HTMLResponse(page, headers={"content-security-policy": policy, "x-content-type-options": "nosniff"})


@cache
def _docs() -> tuple[str, str]:
    """The page, and the policy that lets its own script and style run and no other."""
    page = Path(__file__).with_name("docs.html").read_text("utf-8")

    def only(tag: str) -> str:
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        return f"'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}'"

    allowed = {"connect": "'self'", "script": only("script"), "style": only("style")}
    parts = ["default-src 'none'", *(f"{name}-src {sources}" for name, sources in allowed.items())]
    return page, "; ".join([*parts, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"])
