"""The schemas of runs and their output items."""

from typing import Any

from fairmark.evals.run_calls import STATUSES
from fairmark.server.schemas.shapes import (
    ABOVE_0,
    BOOLEAN,
    COUNT,
    IMPORTED,
    INTEGER,
    MAYBE_STRING,
    METADATA,
    NUMBER,
    OBJECT,
    REGISTERED,
    SOME_STRING,
    STRING,
    Schema,
    budget,
    list_of,
    maybe,
    ref,
    shape,
)

EXAMPLES: dict[str, Any] = {
    "Regrade": {"name": "again"},
    "NewRun": {
        "name": "first",
        "data_source": {
            "type": "jsonl",
            "source": {
                "type": "file_content",
                "content": [{"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}],
            },
        },
    },
}


def run_schemas() -> dict[str, Schema]:
    return {**_asked_for(), "Run": _run(), "RunList": list_of("Run"), **_items()}


def _asked_for() -> dict[str, Schema]:
    return {
        "NewRun": shape(
            {"data_source": _data_source()},
            {
                "name": MAYBE_STRING,
                "metadata": METADATA,
                "budget": budget(ABOVE_0),
                "deadline_s": maybe(ABOVE_0),
            },
        ),
        "Regrade": shape(
            {},
            {
                "testing_criteria": {"type": ["array", "null"], "items": ref("Grader"), "minItems": 1},
                "name": MAYBE_STRING,
                "metadata": METADATA,
                "judges": {"type": ["object", "null"], "additionalProperties": STRING},
                "against": MAYBE_STRING,
            },
        ),
    }


def _data_source() -> Schema:
    content = {"type": "array", "items": {**ref("Row"), "type": "object"}, "minItems": 1}
    source = {
        "oneOf": [
            shape({"type": {"const": "file_content"}, "content": content}),
            shape({"type": {"const": "file_id"}, "id": STRING}),
        ]
    }
    messages = {
        "oneOf": [
            shape(
                {
                    "type": {"const": "template"},
                    "template": {"type": "array", "items": ref("Message"), "minItems": 1},
                }
            ),
            shape({"type": {"const": "item_reference"}, "item_reference": {"type": "string", "pattern": r"^item\.\w"}}),
        ]
    }
    return {
        "description": "Rows that bring their samples, or that a model is asked about first.",
        "oneOf": [
            shape({"type": {"const": "jsonl"}, "source": source}),
            shape(
                {"type": {"enum": ["completions", "responses"]}, "source": source},
                {
                    "model": SOME_STRING,
                    "input_messages": messages,
                    "sampling_params": {"type": ["object", "null"]},
                },
            ),
        ],
    }


def _run() -> Schema:
    return shape(
        {
            "object": {"const": "eval.run"},
            "id": STRING,
            "eval_id": STRING,
            "status": {"enum": list(STATUSES)},
            "created_at": INTEGER,
            "name": STRING,
            "model": MAYBE_STRING,
            "report_url": STRING,
            "data_source": OBJECT,
            "result_counts": shape(dict.fromkeys(("total", "passed", "failed", "errored", "skipped"), COUNT)),
            "per_model_usage": {"type": ["array", "null"], "items": shape({"model_name": STRING})},
            "per_testing_criteria_results": {
                "type": ["array", "null"],
                "items": shape(
                    {
                        "testing_criteria": STRING,
                        **dict.fromkeys(("passed", "failed", "errored", "skipped"), COUNT),
                    }
                ),
            },
            "error": {"type": ["object", "null"]},
            "metadata": METADATA,
        },
        {
            "graders": {"type": "array", "items": REGISTERED},
            "testing_criteria": {"type": "array", "items": OBJECT},
            "regraded_from": STRING,
            "imported": IMPORTED,
            "local": {
                **shape({"source": STRING, "by": MAYBE_STRING, "at": INTEGER}),
                "description": "Who made it and when, of a run of fairmark eval.",
            },
            "error_reasons": {"type": "array", "items": shape({"reason": STRING, "count": COUNT})},
            "warnings": {"type": "array", "items": shape({"warning": STRING, "count": COUNT})},
        },
    )


def _items() -> dict[str, Schema]:
    return {
        "OutputItem": shape(
            {
                "object": {"const": "eval.run.output_item"},
                "id": STRING,
                "eval_id": STRING,
                "run_id": STRING,
                "created_at": INTEGER,
                "status": {"enum": ["pass", "fail", "error", "skip"]},
                "datasource_item_id": COUNT,
                "datasource_item": OBJECT,
                "results": {
                    "type": "array",
                    "items": shape(
                        {"name": STRING, "type": STRING, "score": NUMBER, "passed": BOOLEAN},
                        {"spread": maybe(OBJECT), "registered": {"type": "array", "items": REGISTERED}},
                    ),
                },
                "sample": OBJECT,
            }
        ),
        "OutputItemList": list_of("OutputItem"),
    }
