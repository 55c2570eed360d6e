"""The schemas of evals."""

from typing import Any

from fairmark.server.schemas.graders import EXACT
from fairmark.server.schemas.shapes import (
    IMPORTED,
    INTEGER,
    MAYBE_STRING,
    METADATA,
    OBJECT,
    STRING,
    Schema,
    list_of,
    ref,
    shape,
)

EXAMPLES: dict[str, Any] = {
    "NewEval": {
        "name": "capitals",
        "data_source_config": {
            "type": "custom",
            "item_schema": {"type": "object", "properties": {"answer": {"type": "string"}}},
            "include_sample_schema": True,
        },
        "testing_criteria": [EXACT],
    },
    "EvalUpdate": {"name": "capitals"},
}


def eval_schemas() -> dict[str, Schema]:
    return {
        "NewEval": shape(
            {
                "data_source_config": _data_source_config(),
                "testing_criteria": {"type": "array", "items": ref("Grader"), "minItems": 1},
            },
            {"name": MAYBE_STRING, "metadata": METADATA},
        ),
        "EvalUpdate": shape({}, {"name": MAYBE_STRING, "metadata": METADATA}),
        "Eval": shape(
            {
                "object": {"const": "eval"},
                "id": STRING,
                "name": STRING,
                "data_source_config": shape({"type": STRING, "schema": OBJECT}),
                "testing_criteria": {"type": "array", "items": ref("Grader")},
                "created_at": INTEGER,
                "metadata": METADATA,
            },
            {
                "imported": IMPORTED,
                "warnings": {
                    "type": "array",
                    "items": STRING,
                    "description": "Of a new one: judges that are gone or go.",
                },
            },
        ),
        "EvalList": list_of("Eval"),
    }


def _data_source_config() -> Schema:
    return {
        "oneOf": [
            shape(
                {"type": {"const": "custom"}, "item_schema": OBJECT},
                {"include_sample_schema": {"type": ["boolean", "null"]}},
            ),
            shape({"type": {"enum": ["logs", "stored_completions"]}}, {"metadata": {"type": ["object", "null"]}}),
        ]
    }
