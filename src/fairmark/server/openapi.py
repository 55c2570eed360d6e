"""The OpenAPI document, made from the table of routes, and a page that shows it without any help from outside."""

from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from fairmark.errors import ERROR_KEYS
from fairmark.graders import KINDS
from fairmark.server.files import PURPOSES
from fairmark.server.wire import answer

_STRING = {"type": "string"}
_NUMBER = {"type": "number"}
_INTEGER = {"type": "integer"}
_BOOLEAN = {"type": "boolean"}
_OBJECT: dict[str, Any] = {"type": "object"}
_MAYBE_STRING = {"type": ["string", "null"]}
_METADATA = {"type": ["object", "null"], "additionalProperties": {"type": "string", "maxLength": 512}}
_BUDGET = {"type": ["object", "null"], "properties": {"tokens": _INTEGER, "dollars": _NUMBER}}

_QUERY: dict[str, dict[str, Any]] = {
    "after": {"description": "The id of the last entry seen.", "schema": _STRING},
    "limit": {"description": "How many entries at most.", "schema": {"type": "integer", "minimum": 1}},
    "order": {"description": "By creation.", "schema": {"enum": ["asc", "desc"]}},
    "order_by": {"schema": {"enum": ["created_at", "updated_at"]}},
    "status": {"description": "Only entries of this status.", "schema": _STRING},
    "purpose": {"description": "Only files of this purpose.", "schema": _STRING},
}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _shape(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _list_of(name: str) -> dict[str, Any]:
    return _shape(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": _ref(name)},
            "first_id": _MAYBE_STRING,
            "last_id": _MAYBE_STRING,
            "has_more": _BOOLEAN,
        }
    )


def _graders() -> dict[str, Any]:
    """The schema of a grader: any of the kinds, each with the fields of its spec."""
    return {
        "description": "Templates such as {{ item.answer }} and {{ sample.output_text }} are filled in.",
        "oneOf": [
            {
                "type": "object",
                "title": name,
                "description": kind.summary,
                "properties": {
                    field: {"const": name} if field == "type" else {"title": field} for field in kind.spec.model_fields
                },
                "required": [
                    field for field, info in kind.spec.model_fields.items() if info.is_required() and field != "name"
                ],
            }
            for name, kind in KINDS.items()
        ],
    }


def _schemas() -> dict[str, Any]:
    error = _shape({"message": _STRING, "type": _STRING, "param": _MAYBE_STRING, "code": _MAYBE_STRING})
    usage = _shape(dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"), _INTEGER))
    sample = {"description": "The model's output: a text, or an object with output_text or choices."}
    row = _shape({"item": _OBJECT}, {"sample": sample})
    metadata = _shape(
        {
            "name": _STRING,
            "type": _STRING,
            "errors": _shape({key: {"type": ["boolean", "string", "null"]} for key in ERROR_KEYS}),
            "execution_time": {"type": "number", "description": "Seconds."},
            "scores": _OBJECT,
            "token_usage": {"anyOf": [usage, {"type": "null"}]},
            "sampled_model_name": _MAYBE_STRING,
        }
    )
    return {
        "Error": _shape({"error": error}),
        "Grader": _graders(),
        "GraderToValidate": _shape({"grader": _ref("Grader")}),
        "ValidGrader": _shape(
            {"grader": _ref("Grader")}, {"valid": {"const": True}, "warnings": {"type": "array", "items": _STRING}}
        ),
        "GraderRun": _shape(
            {"grader": _ref("Grader"), "model_sample": sample}, {"item": _OBJECT, "reference_answer": {}}
        ),
        "Result": _shape(
            {
                "reward": _NUMBER,
                "metadata": metadata,
                "sub_rewards": {"type": "object", "additionalProperties": _NUMBER},
                "model_grader_token_usage_per_model": {"type": "object", "additionalProperties": usage},
            },
            {
                "status": {"enum": ["graded", "error", "skipped"]},
                "passed": {"type": ["boolean", "null"]},
                "error": _MAYBE_STRING,
                "warnings": {"type": "array", "items": _STRING},
                "score": {"type": "number", "description": "The reward again."},
            },
        ),
        "RewardsRequest": _shape(
            {"grader": _ref("Grader"), "rows": {"type": "array", "items": row}},
            {
                "stream": {"type": "boolean", "description": "One result a line, as they come."},
                "budget": _BUDGET,
            },
        ),
        "Rewards": _shape({"rewards": {"type": "array", "items": _ref("Result")}}),
        "NewEval": _shape(
            {
                "data_source_config": _shape({"type": {"enum": ["custom", "logs", "stored_completions"]}}),
                "testing_criteria": {"type": "array", "items": _ref("Grader"), "minItems": 1},
            },
            {"name": _STRING, "metadata": _METADATA},
        ),
        "EvalUpdate": _shape({}, {"name": _STRING, "metadata": _METADATA}),
        "Eval": _shape(
            {
                "object": {"const": "eval"},
                "id": _STRING,
                "name": _STRING,
                "data_source_config": _OBJECT,
                "testing_criteria": {"type": "array", "items": _ref("Grader")},
                "created_at": _INTEGER,
                "metadata": _METADATA,
            }
        ),
        "EvalList": _list_of("Eval"),
        "NewRun": _shape(
            {"data_source": _shape({"type": {"enum": ["jsonl", "completions", "responses"]}, "source": _OBJECT})},
            {"name": _STRING, "metadata": _METADATA, "budget": _BUDGET, "deadline_s": _NUMBER},
        ),
        "Run": _shape(
            {
                "object": {"const": "eval.run"},
                "id": _STRING,
                "eval_id": _STRING,
                "status": {"enum": ["queued", "in_progress", "completed", "canceled", "failed"]},
                "created_at": _INTEGER,
                "name": _STRING,
                "model": _MAYBE_STRING,
                "report_url": _STRING,
                "data_source": _OBJECT,
                "result_counts": _shape(dict.fromkeys(("total", "passed", "failed", "errored"), _INTEGER)),
                "per_model_usage": {"type": ["array", "null"], "items": _OBJECT},
                "per_testing_criteria_results": {"type": ["array", "null"], "items": _OBJECT},
                "error": {"type": ["object", "null"]},
                "metadata": _METADATA,
            }
        ),
        "RunList": _list_of("Run"),
        "OutputItem": _shape(
            {
                "object": {"const": "eval.run.output_item"},
                "id": _STRING,
                "eval_id": _STRING,
                "run_id": _STRING,
                "created_at": _INTEGER,
                "status": {"enum": ["pass", "fail", "error", "skip"]},
                "datasource_item_id": _INTEGER,
                "datasource_item": _OBJECT,
                "results": {"type": "array", "items": _OBJECT},
                "sample": _OBJECT,
            }
        ),
        "OutputItemList": _list_of("OutputItem"),
        "Upload": _shape(
            {"purpose": {"enum": list(PURPOSES)}, "file": {"type": "string", "contentMediaType": "application/jsonl"}},
            {"expires_after[anchor]": {"const": "created_at"}, "expires_after[seconds]": _INTEGER},
        ),
        "File": _shape(
            {
                "id": _STRING,
                "object": {"const": "file"},
                "bytes": _INTEGER,
                "created_at": _INTEGER,
                "filename": _STRING,
                "purpose": _STRING,
                "status": {"const": "processed"},
            },
            {"expires_at": _INTEGER},
        ),
        "FileList": _list_of("File"),
        "Model": _shape({"id": _STRING, "object": {"const": "model"}, "created": _INTEGER, "owned_by": _STRING}),
        "ModelList": _shape({"object": {"const": "list"}, "data": {"type": "array", "items": _ref("Model")}}),
        "Deleted": _shape({"object": _STRING, "deleted": {"const": True}}),
        "Health": _shape({"status": _STRING}),
    }


_MEDIA = {"Upload": "multipart/form-data", "Bytes": "application/octet-stream", "Text": "text/plain"}


def _content(name: str) -> dict[str, Any]:
    media = _MEDIA.get(name, "application/json")
    return {media: {} if name in ("Bytes", "Text") else {"schema": _ref(name)}}


@cache
def document() -> dict[str, Any]:
    from fairmark import __version__
    from fairmark.server.gate import PUBLIC
    from fairmark.server.routes import HOT, OPERATIONS, Operation

    async def nobody(request: Request) -> Response:
        raise NotImplementedError

    hot = [Operation("POST", each.path, nobody, each.summary, each.gives, each.takes) for each in HOT]
    paths: dict[str, Any] = {}
    for operation in (*hot, *OPERATIONS):
        path = operation.path.replace(":path}", "}")
        parts = path.split("/")
        described: dict[str, Any] = {
            "summary": operation.summary,
            "operationId": f"{operation.method.lower()}{path.translate(_NAMES)}",
            "tags": [parts[2] if parts[1] == "v1" else "server"],
            "responses": {
                str(operation.status): {"description": operation.summary, "content": _content(operation.gives)},
                "default": {"description": "An error", "content": _content("Error")},
            },
        }
        parameters = [
            {"name": part[1:-1], "in": "path", "required": True, "schema": _STRING}
            for part in parts
            if part.startswith("{")
        ] + [{"name": name, "in": "query", **_QUERY[name]} for name in operation.query]
        if parameters:
            described["parameters"] = parameters
        if operation.takes:
            described["requestBody"] = {"required": True, "content": _content(operation.takes)}
        if operation.path in PUBLIC:
            described["security"] = []
        paths.setdefault(path, {})[operation.method.lower()] = described
    rewards = paths["/v1/rewards"]["post"]["responses"]["200"]["content"]
    rewards["application/x-ndjson"] = {"schema": _ref("Result")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Fairmark",
            "version": __version__,
            "description": "Grades what language models say. Serves OpenAI's API for graders, evals and files; the same"
            " routes also stand below /openai/v1, /openai, /openai/deployments/NAME and /api/projects/NAME/openai/v1.",
        },
        "paths": paths,
        "components": {
            "schemas": _schemas(),
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
    page = Path(__file__).with_name("docs.html").read_text("utf-8")
    return HTMLResponse(page, headers={"content-security-policy": "default-src 'none'; connect-src 'self';"
                                       " style-src 'unsafe-inline'; script-src 'unsafe-inline'"})  # fmt: skip
