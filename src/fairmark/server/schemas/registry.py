"""The schemas of registered graders, their versions and scores, packs of them, and endpoints to try."""

from typing import Any

from fairmark.registry.packs import MOST
from fairmark.server.registry import MOST_SCORES
from fairmark.server.schemas.checks import STANDING
from fairmark.server.schemas.graders import EXACT
from fairmark.server.schemas.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
    KEY,
    MAYBE_STRING,
    NUMBER,
    OBJECT,
    STRING,
    VERSION,
    Schema,
    list_of,
    ref,
    shape,
)

EXAMPLES: dict[str, Any] = {
    # A custom one, so that whoever goes on from here can push scores to it too.
    "NewGrader": {"key": "editors", "grader": {"type": "custom", "description": "What our editors gave, 1 to 5."}},
    "GraderUpdate": {"name": "Exact match"},
    "NewScores": {"scores": [{"sample_id": "sample-1", "value": 0.5, "reasoning": "half of it"}]},
    "EndpointToTest": {"url": "http://127.0.0.1:8000"},
    "GraderPackToImport": {"graders": [{"key": "exact-match", "grader": EXACT}], "update": True},
}


def registry_schemas() -> dict[str, Schema]:
    return {**_graders(), **_scores(), **_endpoints(), **_packs()}


def _graders() -> dict[str, Schema]:
    return {
        "NewGrader": shape({"key": KEY, "grader": ref("Grader")}, {"name": MAYBE_STRING, "description": MAYBE_STRING}),
        "GraderUpdate": shape(
            {},
            {
                "grader": ref("Grader"),
                "name": MAYBE_STRING,
                "description": MAYBE_STRING,
                "locked": BOOLEAN,
                "version": {
                    "type": ["integer", "null"],
                    "description": "The version that was changed: where there is a newer one, nothing happens.",
                },
            },
        ),
        "RegisteredGrader": shape(
            {
                "object": {"const": "grader"},
                "id": STRING,
                "key": STRING,
                "name": STRING,
                "description": MAYBE_STRING,
                "version": VERSION,
                "locked": BOOLEAN,
                "grader": ref("Grader"),
                "grader_type": STRING,
                "grader_config": OBJECT,
                "project": shape({"id": STRING, "key": STRING, "name": STRING}),
                "metric": shape({"id": STRING, "key": STRING, "name": STRING, "kind": {"enum": ["BOOL", "SCALAR"]}}),
                "created_at": INTEGER,
                "updated_at": INTEGER,
            },
            {"warnings": {"type": "array", "items": STRING}, "judge_check": STANDING},
        ),
        "RegisteredGraderList": list_of("RegisteredGrader"),
        "GraderVersion": shape({"version": VERSION, "grader": ref("Grader"), "created_at": INTEGER}),
        "GraderVersionList": list_of("GraderVersion"),
    }


def _scores() -> dict[str, Schema]:
    return {
        "NewScores": shape(
            {
                "scores": {
                    "type": "array",
                    "maxItems": MOST_SCORES,
                    "items": shape(
                        {"sample_id": {"type": "string", "minLength": 1, "maxLength": 512}, "value": NUMBER},
                        {"reasoning": MAYBE_STRING},
                    ),
                }
            }
        ),
        "ScoresAccepted": shape({"object": {"const": "grader.scores"}, "key": STRING, "accepted": COUNT}),
        "Score": shape({"grader_key": STRING, "sample_id": STRING, "value": NUMBER, "reasoning": MAYBE_STRING}),
        "ScoreList": list_of("Score"),
    }


def _endpoints() -> dict[str, Schema]:
    return {
        "EndpointToTest": shape({"url": STRING}),
        "EndpointTest": shape({"status": {"enum": ["online", "offline"]}}),
    }


def _packs() -> dict[str, Schema]:
    pack: Schema = {
        "graders": {
            "type": "array",
            "maxItems": MOST,
            "items": shape(
                {"key": KEY, "grader": ref("Grader")},
                {"name": MAYBE_STRING, "description": MAYBE_STRING, "locked": BOOLEAN},
            ),
        }
    }
    return {
        "GraderPack": shape(pack),
        "GraderPackToImport": shape(
            pack, {"update": {"type": "boolean", "description": "Graders that differ get a new version."}}
        ),
        "ImportedPack": shape(
            {"graders": {"type": "object", "additionalProperties": {"enum": ["created", "updated", "unchanged"]}}}
        ),
    }
