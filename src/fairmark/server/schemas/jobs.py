"""The schemas of fine-tuning jobs in the OpenAPI document."""

from typing import Any, get_args

from fairmark.finetuning.asking import (
    EFFORTS,
    FORMATS,
    GREATEST_SEED,
    LONGEST_MODEL,
    LONGEST_SUFFIX,
    LONGEST_TAG,
    MOST_INTEGRATIONS,
    MOST_TAGS,
)
from fairmark.finetuning.worker_calls import (
    GREATEST,
    LONGEST_CODE,
    LONGEST_KEY,
    LONGEST_LEASE_S,
    LONGEST_MESSAGE,
    MOST_CHECKPOINTS,
    MOST_EVENTS,
    MOST_MODELS,
    SHORTEST_LEASE_S,
    STATUSES,
)
from fairmark.server.schemas.graders import EXACT
from fairmark.server.schemas.shapes import (
    ABOVE_0,
    BOOLEAN,
    INTEGER,
    MAYBE_STRING,
    METADATA,
    OBJECT,
    STRING,
    Schema,
    list_of,
    maybe,
    ref,
    shape,
)
from fairmark.store.jobs.entries import Level
from fairmark.store.jobs.jobs import Status

_MAYBE_INTEGER: Schema = {"type": ["integer", "null"]}
_WHOLE: Schema = {"type": "integer", "minimum": 0, "maximum": GREATEST}
_NAME: Schema = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,100}$"}
_LEASE_S: Schema = maybe({"type": "integer", "minimum": SHORTEST_LEASE_S, "maximum": LONGEST_LEASE_S})

EXAMPLES: dict[str, Any] = {
    "NewFineTuningJob": {
        "model": "Qwen/Qwen3-0.6B",
        "training_file": "file-000000000000000000000000",
        "method": {"type": "reinforcement", "reinforcement": {"grader": EXACT}},
    },
    "FineTuningWorker": {"worker": "gpu-1", "models": ["Qwen/Qwen3-0.6B"]},
    "FineTuningProgress": {
        "lease": "00000000000000000000000000000000",
        "status": "running",
        "events": [{"key": "1", "message": "Step 1", "data": {"step": 1, "train_mean_reward": 0.5}}],
    },
}


def _auto(schema: Schema) -> Schema:
    return {"anyOf": [{"const": "auto"}, schema, {"type": "null"}]}


def _method() -> Schema:
    hyperparameters = {
        "batch_size": _auto({"type": "integer", "minimum": 1, "maximum": 256}),
        "learning_rate_multiplier": _auto({**ABOVE_0, "maximum": 1e300}),
        "n_epochs": _auto({"type": "integer", "minimum": 1, "maximum": 50}),
        "eval_interval": _auto({"type": "integer", "minimum": 1}),
        "eval_samples": _auto({"type": "integer", "minimum": 1}),
        "compute_multiplier": _auto({"type": "number", "exclusiveMinimum": 0.00001, "maximum": 10}),
        "reasoning_effort": {"enum": [*EFFORTS, None]},
    }
    reinforcement = shape(
        {"grader": ref("Grader")},
        {
            "hyperparameters": {
                **shape({}, hyperparameters),
                "type": ["object", "null"],
                "additionalProperties": False,
            },
            "response_format": maybe(shape({"type": {"enum": list(FORMATS)}})),
        },
    )
    return shape(
        {"type": {"const": "reinforcement"}, "reinforcement": {**reinforcement, "additionalProperties": False}}
    )


def _integrations() -> Schema:
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_TAG}
    tags = {"type": ["array", "null"], "items": text, "maxItems": MOST_TAGS}
    wandb = shape({"project": text}, {"name": maybe(text), "entity": maybe(text), "tags": tags})
    one = shape({"type": {"const": "wandb"}, "wandb": {**wandb, "additionalProperties": False}})
    return {"type": ["array", "null"], "items": {**one, "additionalProperties": False}, "maxItems": MOST_INTEGRATIONS}


def _new_job() -> Schema:
    file = {"type": "string", "minLength": 1, "maxLength": 100}
    new = shape(
        {
            "model": {"type": "string", "minLength": 1, "maxLength": LONGEST_MODEL},
            "training_file": file,
            "method": _method(),
        },
        {
            "validation_file": maybe(file),
            "suffix": maybe({"type": "string", "minLength": 1, "maxLength": LONGEST_SUFFIX}),
            "seed": {"type": ["integer", "null"], "minimum": 0, "maximum": GREATEST_SEED},
            "metadata": METADATA,
            "integrations": _integrations(),
            "answers_file": {**maybe(file), "description": "Answers to the rows of the training file, one a line."},
            "validation_answers_file": {**maybe(file), "description": "The same for the validation file."},
        },
    )
    return {**new, "additionalProperties": False}


def _job() -> Schema:
    return shape(
        {
            "object": {"const": "fine_tuning.job"},
            "id": STRING,
            "model": STRING,
            "created_at": INTEGER,
            "finished_at": _MAYBE_INTEGER,
            "fine_tuned_model": MAYBE_STRING,
            "organization_id": STRING,
            "result_files": {"type": "array", "items": STRING},
            "status": {"enum": list(get_args(Status))},
            "training_file": STRING,
            "validation_file": MAYBE_STRING,
            "hyperparameters": OBJECT,
            "trained_tokens": _MAYBE_INTEGER,
            "error": maybe(shape({"code": STRING, "message": STRING, "param": MAYBE_STRING})),
            "seed": INTEGER,
        },
        {
            "user_provided_suffix": MAYBE_STRING,
            "estimated_finish": _MAYBE_INTEGER,
            "integrations": {"type": ["array", "null"], "items": OBJECT},
            "metadata": METADATA,
            "method": OBJECT,
            "eval_id": {**MAYBE_STRING, "description": "The eval whose runs are the baseline."},
            "paused": BOOLEAN,
            "imported": OBJECT,
        },
    )


def _progress() -> Schema:
    """What a worker tells of its job."""
    text = {"type": "string", "minLength": 1, "maxLength": LONGEST_MESSAGE}
    model = {"type": "string", "minLength": 1, "maxLength": LONGEST_MODEL}
    event = shape(
        {"key": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY}, "message": text},
        {"level": {"enum": list(get_args(Level))}, "data": maybe(OBJECT)},
    )
    checkpoint = shape({"model": model, "step": _WHOLE}, {"metrics": OBJECT})
    code = {"type": "string", "minLength": 1, "maxLength": LONGEST_CODE}
    error = shape({"code": code, "message": text}, {"param": {"type": "null"}})
    told = shape(
        {"lease": _NAME},
        {
            "lease_s": _LEASE_S,
            "release": BOOLEAN,
            "status": {"enum": [*STATUSES, None]},
            "fine_tuned_model": maybe(model),
            "trained_tokens": maybe(_WHOLE),
            "estimated_finish": maybe(_WHOLE),
            "error": maybe({**error, "additionalProperties": False}),
            "events": {
                "type": ["array", "null"],
                "maxItems": MOST_EVENTS,
                "items": {**event, "additionalProperties": False},
            },
            "checkpoints": {
                "type": ["array", "null"],
                "maxItems": MOST_CHECKPOINTS,
                "items": {**checkpoint, "additionalProperties": False},
            },
        },
    )
    return {**told, "additionalProperties": False}


def _worker() -> Schema:
    model = {"type": "string", "minLength": 1, "maxLength": LONGEST_MODEL}
    models = {"type": "array", "items": model, "minItems": 1, "maxItems": MOST_MODELS}
    return {**shape({"worker": _NAME, "models": models}, {"lease_s": _LEASE_S}), "additionalProperties": False}


def job_schemas() -> dict[str, Schema]:
    """By the names that the table of routes uses."""
    event = shape(
        {
            "object": {"const": "fine_tuning.job.event"},
            "id": STRING,
            "created_at": INTEGER,
            "level": {"enum": ["info", "warn", "error"]},
            "message": STRING,
        },
        {"type": {"enum": ["message", "metrics"]}, "data": OBJECT},
    )
    checkpoint = shape(
        {
            "object": {"const": "fine_tuning.job.checkpoint"},
            "id": STRING,
            "created_at": INTEGER,
            "fine_tuned_model_checkpoint": STRING,
            "fine_tuning_job_id": STRING,
            "metrics": OBJECT,
            "step_number": INTEGER,
        }
    )
    return {
        "NewFineTuningJob": _new_job(),
        "FineTuningJob": _job(),
        "FineTuningWorker": _worker(),
        "FineTuningLease": shape(
            {
                "object": {"const": "fine_tuning.lease"},
                "job": maybe(ref("FineTuningJob")),
                "lease": MAYBE_STRING,
                "lease_s": INTEGER,
            }
        ),
        "FineTuningProgress": _progress(),
        "FineTuningJobList": list_of("FineTuningJob"),
        "FineTuningEvent": event,
        "FineTuningEventList": list_of("FineTuningEvent"),
        "FineTuningCheckpoint": checkpoint,
        "FineTuningCheckpointList": list_of("FineTuningCheckpoint"),
    }
