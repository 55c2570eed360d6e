"""The schemas of the OpenAPI document: what bodies and answers look like, and an example of each body."""

from typing import Any

from fairmark.server.schemas import checks, completions, evals, graders, imports, jobs, labels, registry, runs
from fairmark.server.schemas.checks import check_schemas
from fairmark.server.schemas.completions import completion_schemas
from fairmark.server.schemas.evals import eval_schemas
from fairmark.server.schemas.files import file_schemas
from fairmark.server.schemas.graders import grader_schemas
from fairmark.server.schemas.imports import import_schemas
from fairmark.server.schemas.jobs import job_schemas
from fairmark.server.schemas.labels import label_schemas
from fairmark.server.schemas.registry import registry_schemas
from fairmark.server.schemas.runs import run_schemas
from fairmark.server.schemas.shapes import INTEGER, MAYBE_STRING, STRING, Schema, ref, shape

EXAMPLES: dict[str, Any] = {
    name: example
    for resource in (graders, evals, runs, labels, registry, completions, jobs, imports, checks)
    for name, example in resource.EXAMPLES.items()
}
"""A body for each schema that is one; the docs page fills its forms with them."""


def schemas() -> dict[str, Schema]:
    """By the names that the table of routes uses."""
    return {
        "Error": _error(),
        **grader_schemas(),
        **eval_schemas(),
        **run_schemas(),
        **label_schemas(),
        **file_schemas(),
        **_models(),
        **registry_schemas(),
        "Deleted": shape({"object": STRING, "deleted": {"const": True}}),
        "Health": shape({"status": STRING}),
        **completion_schemas(),
        **job_schemas(),
        **import_schemas(),
        **check_schemas(),
    }


def _error() -> Schema:
    error = shape({"message": STRING, "type": STRING, "param": MAYBE_STRING, "code": MAYBE_STRING})
    problem = shape({"path": STRING, "message": STRING})
    return shape(
        {"error": error},
        {"problems": {"type": "array", "items": problem, "description": "All that is wrong with a grader."}},
    )


def _models() -> dict[str, Schema]:
    return {
        "Model": shape({"id": STRING, "object": {"const": "model"}, "created": INTEGER, "owned_by": STRING}),
        "ModelList": shape({"object": {"const": "list"}, "data": {"type": "array", "items": ref("Model")}}),
    }
