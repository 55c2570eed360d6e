"""The schemas of graders, one for each kind, and of what grades with them."""

from typing import Any

from fairmark.errors import ERROR_KEYS
from fairmark.graders import all_kinds
from fairmark.run import LONGEST_S
from fairmark.schema import message, of_kind, reference
from fairmark.server.schemas.shapes import (
    ABOVE_0,
    COUNT,
    MAYBE_STRING,
    NUMBER,
    OBJECT,
    PLACE,
    REGISTERED,
    STRING,
    Schema,
    budget,
    maybe,
    ref,
    shape,
)

EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
SIMILAR = {
    "type": "text_similarity",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "evaluation_metric": "fuzzy_match",
}
EXAMPLES: dict[str, Any] = {
    "GraderRun": {"grader": EXACT, "model_sample": "Paris", "item": {"answer": "Paris"}},
    "GraderToValidate": {"grader": {**SIMILAR, "evaluation_metric": "rouge_l"}},
    "RewardsRequest": {
        "grader": SIMILAR,
        "rows": [{"item": {"answer": "Paris"}, "sample": "Paris"}, {"item": {"answer": "Rome"}, "sample": "Roma"}],
    },
}


def grader_schemas() -> dict[str, Schema]:
    return {"Message": message(), **_graders(), **_graded()}


def _graders() -> dict[str, Schema]:
    return {
        "Grader": {
            "description": "Templates such as {{ item.answer }} and {{ sample.output_text }} are filled in.",
            "oneOf": [*(of_kind(name, kind, PLACE) for name, kind in all_kinds().items()), reference()],
        },
        "GraderToValidate": shape({"grader": ref("Grader")}),
        "ValidGrader": shape(
            {"grader": ref("Grader"), "valid": {"const": True}, "warnings": {"type": "array", "items": STRING}}
        ),
    }


def _graded() -> dict[str, Schema]:
    usage = shape(dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"), COUNT))
    sample = {
        "type": ["string", "object"],
        "description": "The model's output: a text, or an object with output_text or choices.",
    }
    metadata = shape(
        {
            "name": STRING,
            "type": STRING,
            "errors": shape({key: {"type": ["boolean", "string", "null"]} for key in ERROR_KEYS}),
            "execution_time": {"type": "number", "description": "Seconds."},
            "scores": OBJECT,
            "token_usage": maybe(usage),
            "sampled_model_name": MAYBE_STRING,
        }
    )
    return {
        "GraderRun": shape(
            {"grader": ref("Grader"), "model_sample": sample},
            {"item": {"type": ["object", "null"]}, "reference_answer": {}},
        ),
        "Result": shape(
            {
                "reward": NUMBER,
                "metadata": metadata,
                "sub_rewards": {"type": "object", "additionalProperties": NUMBER},
                "model_grader_token_usage_per_model": {"type": "object", "additionalProperties": usage},
                "status": {"enum": ["graded", "error", "skipped"]},
                "passed": {"type": ["boolean", "null"]},
                "error": MAYBE_STRING,
                "warnings": {"type": "array", "items": STRING},
                "score": {"type": "number", "description": "The reward again."},
            },
            {"registered": {"type": "array", "items": REGISTERED}},
        ),
        # No type: where many rows are graded at once, one that is no object fails alone.
        "Row": {
            "description": "An item and its sample. Without an item, all but the sample is the item.",
            "properties": {"item": {}, "sample": {}},
        },
        "RewardsRequest": shape(
            {"grader": ref("Grader"), "rows": {"type": "array", "items": ref("Row")}},
            {
                "stream": {"type": "boolean", "description": "One result a line, as they come."},
                "budget": budget({"type": ["number", "null"], "minimum": 0}),
                "deadline_s": maybe({**ABOVE_0, "maximum": LONGEST_S}),
            },
        ),
        "Rewards": shape({"rewards": {"type": "array", "items": ref("Result")}}),
    }
