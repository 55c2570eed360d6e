"""The schemas of the OpenAPI document: what bodies and answers look like, and an example of each body."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from fairmark.errors import ERROR_KEYS
from fairmark.evals.eval_calls import MOST_METADATA
from fairmark.evals.run_calls import STATUSES
from fairmark.graders import KINDS, all_kinds
from fairmark.graders.string_check import StringCheck
from fairmark.references import KEY, TYPE
from fairmark.registry.packs import MOST
from fairmark.run import LONGEST_S
from fairmark.server.files import ANCHOR, LONGEST_LIFE_S, PURPOSES, SECONDS, SHORTEST_LIFE_S
from fairmark.server.registry import MOST_SCORES
from fairmark.spec import GraderSpec
from fairmark.text.compiled import CompiledText
from fairmark.text.messages import BLOCKS, ROLES, Messages

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_INTEGER: Schema = {"type": "integer"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_BOOLEAN: Schema = {"type": "boolean"}
_OBJECT: Schema = {"type": "object"}
_MAYBE_STRING: Schema = {"type": ["string", "null"]}
_SOME_STRING: Schema = {"type": "string", "minLength": 1}
_KEY: Schema = {"type": "string", "pattern": f"^{KEY.pattern}$"}
_VERSION: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_METADATA: Schema = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "string", "maxLength": 512},
    "propertyNames": {"maxLength": 64},
    "maxProperties": MOST_METADATA,
}
_EXACT = {
    "type": "string_check",
    "name": "exact",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "operation": "eq",
}
_SIMILAR = {
    "type": "text_similarity",
    "input": "{{ sample.output_text }}",
    "reference": "{{ item.answer }}",
    "evaluation_metric": "fuzzy_match",
}

EXAMPLES: dict[str, Any] = {
    "GraderRun": {"grader": _EXACT, "model_sample": "Paris", "item": {"answer": "Paris"}},
    "GraderToValidate": {"grader": {**_SIMILAR, "evaluation_metric": "rouge_l"}},
    "RewardsRequest": {
        "grader": _SIMILAR,
        "rows": [{"item": {"answer": "Paris"}, "sample": "Paris"}, {"item": {"answer": "Rome"}, "sample": "Roma"}],
    },
    "NewEval": {
        "name": "capitals",
        "data_source_config": {
            "type": "custom",
            "item_schema": {"type": "object", "properties": {"answer": {"type": "string"}}},
            "include_sample_schema": True,
        },
        "testing_criteria": [_EXACT],
    },
    "EvalUpdate": {"name": "capitals"},
    # A custom one, so that whoever goes on from here can push scores to it too.
    "NewGrader": {"key": "editors", "grader": {"type": "custom", "description": "What our editors gave, 1 to 5."}},
    "GraderUpdate": {"name": "Exact match"},
    "NewScores": {"scores": [{"sample_id": "sample-1", "value": 0.5, "reasoning": "half of it"}]},
    "EndpointToTest": {"url": "http://127.0.0.1:8000"},
    "GraderPackToImport": {"graders": [{"key": "exact-match", "grader": _EXACT}], "update": True},
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
"""A body for each schema that is one; the docs page fills its forms with them."""


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _shape(required: Schema, optional: Schema | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _reference() -> Schema:
    return {
        **_shape(
            {"type": {"const": TYPE}, "key": _KEY},
            {"version": _maybe(_VERSION), "name": _MAYBE_STRING, "pass_threshold": {"type": ["number", "null"]}},
        ),
        "title": TYPE,
        "description": "A grader that is kept under this key.",
        "additionalProperties": False,
    }


def _list_of(name: str) -> Schema:
    return _shape(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": ref(name)},
            "first_id": _MAYBE_STRING,
            "last_id": _MAYBE_STRING,
            "has_more": _BOOLEAN,
        }
    )


def _grader(name: str, spec: type[GraderSpec], summary: str) -> Schema:
    fields = spec.model_fields
    known = _FIELDS if name in KINDS else {"name": _MAYBE_STRING}
    return {
        "type": "object",
        "title": name,
        "description": summary,
        "properties": {field: known.get(field) or _typed(info.annotation) for field, info in fields.items()},
        # A grader without a name is called by its type.
        "required": [field for field, info in fields.items() if info.is_required() and field != "name"],
    }


# What says more, or takes more, than its type does, in our own kinds.
_FIELDS: dict[str, Schema] = {
    "name": _MAYBE_STRING,
    "operation": {"enum": [*get_args(StringCheck.model_fields["operation"].annotation), "neq"]},
    "range": {"type": ["array", "null"], "items": _NUMBER, "minItems": 2, "maxItems": 2},
    "graders": {
        "type": "object",
        "additionalProperties": {**ref("Grader"), "not": {"properties": {"type": {"const": "multi"}}}},
        "minProperties": 1,
    },
}


def _typed(annotation: Any) -> Schema:
    """The schema of a spec's field, from its type. What a field's own parser refuses is not told."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _typed(inner[0])
    if origin in (Union, UnionType):
        known = [_typed(each) for each in inner if each is not NoneType]
        return _maybe(known[0]) if len(known) == 1 else {}
    if origin is Literal:
        return {"enum": list(inner)}
    if annotation is Messages:
        return {"type": "array", "items": ref("Message"), "minItems": 1}
    if origin is Mapping:
        return _OBJECT
    if origin is Sequence:
        return {"type": "array", "items": _typed(inner[0])}
    if isinstance(annotation, type) and issubclass(annotation, (str, CompiledText)):
        return STRING
    return {bool: _BOOLEAN, int: _INTEGER, float: _NUMBER}.get(annotation, {})


def _budget(limits: Schema) -> Schema:
    return {"type": ["object", "null"], "properties": limits, "additionalProperties": False}


def _data_source() -> Schema:
    content = {"type": "array", "items": {**ref("Row"), "type": "object"}, "minItems": 1}
    source = {
        "oneOf": [
            _shape({"type": {"const": "file_content"}, "content": content}),
            _shape({"type": {"const": "file_id"}, "id": STRING}),
        ]
    }
    messages = {
        "oneOf": [
            _shape(
                {
                    "type": {"const": "template"},
                    "template": {"type": "array", "items": ref("Message"), "minItems": 1},
                }
            ),
            _shape(
                {"type": {"const": "item_reference"}, "item_reference": {"type": "string", "pattern": r"^item\.\w"}}
            ),
        ]
    }
    return {
        "description": "Rows that bring their samples, or that a model is asked about first.",
        "oneOf": [
            _shape({"type": {"const": "jsonl"}, "source": source}),
            _shape(
                {"type": {"enum": ["completions", "responses"]}, "source": source},
                {
                    "model": _SOME_STRING,
                    "input_messages": messages,
                    "sampling_params": {"type": ["object", "null"]},
                },
            ),
        ],
    }


def _data_source_config() -> Schema:
    return {
        "oneOf": [
            _shape(
                {"type": {"const": "custom"}, "item_schema": _OBJECT},
                {"include_sample_schema": {"type": ["boolean", "null"]}},
            ),
            _shape({"type": {"enum": ["logs", "stored_completions"]}}, {"metadata": {"type": ["object", "null"]}}),
        ]
    }


def schemas() -> dict[str, Schema]:
    """By the names that the table of routes uses."""
    error = _shape({"message": STRING, "type": STRING, "param": _MAYBE_STRING, "code": _MAYBE_STRING})
    problem = _shape({"path": STRING, "message": STRING})
    usage = _shape(dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens"), _COUNT))
    sample = {
        "type": ["string", "object"],
        "description": "The model's output: a text, or an object with output_text or choices.",
    }
    block = _shape({"type": {"enum": [*BLOCKS, "text", "image_url"]}})
    blocks = {"type": "array", "items": {"anyOf": [STRING, block]}, "minItems": 1}
    from_0: Schema = {"type": ["number", "null"], "minimum": 0}
    above_0 = {"type": "number", "exclusiveMinimum": 0}
    metadata = _shape(
        {
            "name": STRING,
            "type": STRING,
            "errors": _shape({key: {"type": ["boolean", "string", "null"]} for key in ERROR_KEYS}),
            "execution_time": {"type": "number", "description": "Seconds."},
            "scores": _OBJECT,
            "token_usage": _maybe(usage),
            "sampled_model_name": _MAYBE_STRING,
        }
    )
    registered = {
        **_shape({"id": STRING, "key": STRING, "version": _VERSION}),
        "description": "A version of a registered grader that was used.",
    }
    pack: Schema = {
        "graders": {
            "type": "array",
            "maxItems": MOST,
            "items": _shape(
                {"key": _KEY, "grader": ref("Grader")},
                {"name": _MAYBE_STRING, "description": _MAYBE_STRING, "locked": _BOOLEAN},
            ),
        }
    }
    return {
        "Error": _shape(
            {"error": error},
            {"problems": {"type": "array", "items": problem, "description": "All that is wrong with a grader."}},
        ),
        "Message": _shape(
            {
                "role": {"enum": list(ROLES)},
                "content": {"anyOf": [STRING, block, blocks]},
            }
        ),
        "Grader": {
            "description": "Templates such as {{ item.answer }} and {{ sample.output_text }} are filled in.",
            "oneOf": [*(_grader(name, kind.spec, kind.summary) for name, kind in all_kinds().items()), _reference()],
        },
        "GraderToValidate": _shape({"grader": ref("Grader")}),
        "ValidGrader": _shape(
            {"grader": ref("Grader"), "valid": {"const": True}, "warnings": {"type": "array", "items": STRING}}
        ),
        "GraderRun": _shape(
            {"grader": ref("Grader"), "model_sample": sample},
            {"item": {"type": ["object", "null"]}, "reference_answer": {}},
        ),
        "Result": _shape(
            {
                "reward": _NUMBER,
                "metadata": metadata,
                "sub_rewards": {"type": "object", "additionalProperties": _NUMBER},
                "model_grader_token_usage_per_model": {"type": "object", "additionalProperties": usage},
                "status": {"enum": ["graded", "error", "skipped"]},
                "passed": {"type": ["boolean", "null"]},
                "error": _MAYBE_STRING,
                "warnings": {"type": "array", "items": STRING},
                "score": {"type": "number", "description": "The reward again."},
            },
            {"registered": {"type": "array", "items": registered}},
        ),
        # No type: where many rows are graded at once, one that is no object fails alone.
        "Row": {
            "description": "An item and its sample. Without an item, all but the sample is the item.",
            "properties": {"item": {}, "sample": {}},
        },
        "RewardsRequest": _shape(
            {"grader": ref("Grader"), "rows": {"type": "array", "items": ref("Row")}},
            {
                "stream": {"type": "boolean", "description": "One result a line, as they come."},
                "budget": _budget(dict.fromkeys(("tokens", "dollars"), from_0)),
                "deadline_s": _maybe({**above_0, "maximum": LONGEST_S}),
            },
        ),
        "Rewards": _shape({"rewards": {"type": "array", "items": ref("Result")}}),
        "NewEval": _shape(
            {
                "data_source_config": _data_source_config(),
                "testing_criteria": {"type": "array", "items": ref("Grader"), "minItems": 1},
            },
            {"name": _MAYBE_STRING, "metadata": _METADATA},
        ),
        "EvalUpdate": _shape({}, {"name": _MAYBE_STRING, "metadata": _METADATA}),
        "Eval": _shape(
            {
                "object": {"const": "eval"},
                "id": STRING,
                "name": STRING,
                "data_source_config": _shape({"type": STRING, "schema": _OBJECT}),
                "testing_criteria": {"type": "array", "items": ref("Grader")},
                "created_at": _INTEGER,
                "metadata": _METADATA,
            }
        ),
        "EvalList": _list_of("Eval"),
        "NewRun": _shape(
            {"data_source": _data_source()},
            {
                "name": _MAYBE_STRING,
                "metadata": _METADATA,
                "budget": _budget(dict.fromkeys(("tokens", "dollars"), above_0)),
                "deadline_s": _maybe(above_0),
            },
        ),
        "Run": _shape(
            {
                "object": {"const": "eval.run"},
                "id": STRING,
                "eval_id": STRING,
                "status": {"enum": list(STATUSES)},
                "created_at": _INTEGER,
                "name": STRING,
                "model": _MAYBE_STRING,
                "report_url": STRING,
                "data_source": _OBJECT,
                "result_counts": _shape(dict.fromkeys(("total", "passed", "failed", "errored", "skipped"), _COUNT)),
                "per_model_usage": {"type": ["array", "null"], "items": _shape({"model_name": STRING})},
                "per_testing_criteria_results": {
                    "type": ["array", "null"],
                    "items": _shape(
                        {
                            "testing_criteria": STRING,
                            **dict.fromkeys(("passed", "failed", "errored", "skipped"), _COUNT),
                        }
                    ),
                },
                "error": {"type": ["object", "null"]},
                "metadata": _METADATA,
            },
            {
                "graders": {"type": "array", "items": registered},
                "error_reasons": {"type": "array", "items": _shape({"reason": STRING, "count": _COUNT})},
                "warnings": {"type": "array", "items": _shape({"warning": STRING, "count": _COUNT})},
            },
        ),
        "RunList": _list_of("Run"),
        "OutputItem": _shape(
            {
                "object": {"const": "eval.run.output_item"},
                "id": STRING,
                "eval_id": STRING,
                "run_id": STRING,
                "created_at": _INTEGER,
                "status": {"enum": ["pass", "fail", "error", "skip"]},
                "datasource_item_id": _COUNT,
                "datasource_item": _OBJECT,
                "results": {
                    "type": "array",
                    "items": _shape(
                        {"name": STRING, "type": STRING, "score": _NUMBER, "passed": _BOOLEAN},
                        {"registered": {"type": "array", "items": registered}},
                    ),
                },
                "sample": _OBJECT,
            }
        ),
        "OutputItemList": _list_of("OutputItem"),
        "Upload": {
            **_shape(
                {"purpose": {"enum": list(PURPOSES)}, "file": {"type": "string", "format": "binary"}},
                {
                    ANCHOR: {"const": "created_at"},
                    SECONDS: {"type": "integer", "minimum": SHORTEST_LIFE_S, "maximum": LONGEST_LIFE_S},
                },
            ),
            "dependentRequired": {ANCHOR: [SECONDS], SECONDS: [ANCHOR]},
        },
        "File": _shape(
            {
                "id": STRING,
                "object": {"const": "file"},
                "bytes": _COUNT,
                "created_at": _INTEGER,
                "filename": STRING,
                "purpose": {"enum": list(PURPOSES)},
                "status": {"const": "processed"},
            },
            {"expires_at": _INTEGER},
        ),
        "FileList": _list_of("File"),
        "Model": _shape({"id": STRING, "object": {"const": "model"}, "created": _INTEGER, "owned_by": STRING}),
        "ModelList": _shape({"object": {"const": "list"}, "data": {"type": "array", "items": ref("Model")}}),
        "NewGrader": _shape(
            {"key": _KEY, "grader": ref("Grader")}, {"name": _MAYBE_STRING, "description": _MAYBE_STRING}
        ),
        "GraderUpdate": _shape(
            {},
            {
                "grader": ref("Grader"),
                "name": _MAYBE_STRING,
                "description": _MAYBE_STRING,
                "locked": _BOOLEAN,
                "version": {
                    "type": ["integer", "null"],
                    "description": "The version that was changed: where there is a newer one, nothing happens.",
                },
            },
        ),
        "RegisteredGrader": _shape(
            {
                "object": {"const": "grader"},
                "id": STRING,
                "key": STRING,
                "name": STRING,
                "description": _MAYBE_STRING,
                "version": _VERSION,
                "locked": _BOOLEAN,
                "grader": ref("Grader"),
                "grader_type": STRING,
                "grader_config": _OBJECT,
                "project": _shape({"id": STRING, "key": STRING, "name": STRING}),
                "metric": _shape({"id": STRING, "key": STRING, "name": STRING, "kind": {"enum": ["BOOL", "SCALAR"]}}),
                "created_at": _INTEGER,
                "updated_at": _INTEGER,
            },
            {"warnings": {"type": "array", "items": STRING}},
        ),
        "RegisteredGraderList": _list_of("RegisteredGrader"),
        "GraderVersion": _shape({"version": _VERSION, "grader": ref("Grader"), "created_at": _INTEGER}),
        "GraderVersionList": _list_of("GraderVersion"),
        "NewScores": _shape(
            {
                "scores": {
                    "type": "array",
                    "maxItems": MOST_SCORES,
                    "items": _shape(
                        {"sample_id": {"type": "string", "minLength": 1, "maxLength": 512}, "value": _NUMBER},
                        {"reasoning": _MAYBE_STRING},
                    ),
                }
            }
        ),
        "ScoresAccepted": _shape({"object": {"const": "grader.scores"}, "key": STRING, "accepted": _COUNT}),
        "Score": _shape({"grader_key": STRING, "sample_id": STRING, "value": _NUMBER, "reasoning": _MAYBE_STRING}),
        "ScoreList": _list_of("Score"),
        "EndpointToTest": _shape({"url": STRING}),
        "EndpointTest": _shape({"status": {"enum": ["online", "offline"]}}),
        "GraderPack": _shape(pack),
        "GraderPackToImport": _shape(
            pack, {"update": {"type": "boolean", "description": "Graders that differ get a new version."}}
        ),
        "ImportedPack": _shape(
            {"graders": {"type": "object", "additionalProperties": {"enum": ["created", "updated", "unchanged"]}}}
        ),
        "Deleted": _shape({"object": STRING, "deleted": {"const": True}}),
        "Health": _shape({"status": STRING}),
    }
