"""The schemas of judge checks and hacking reports in the OpenAPI document."""

from typing import Any

from fairmark.checks.requests import LONGEST_S, MOST_ITEMS, MOST_RUNS
from fairmark.server.schemas.graders import EXACT
from fairmark.server.schemas.shapes import (
    ABOVE_0,
    COUNT,
    INTEGER,
    MAYBE_STRING,
    NUMBER,
    OBJECT,
    STRING,
    Schema,
    budget,
    list_of,
    maybe,
    ref,
    shape,
)
from fairmark.store.checks import CHECK_STATUSES
from fairmark.trust.check import REQUIRED
from fairmark.trust.probes import PROBES

EXAMPLES: dict[str, Any] = {
    "NewJudgeCheck": {
        "grader": EXACT,
        "rows": [{"item": {"answer": "Paris"}, "sample": "Paris", "label": "pass", "rater": "kim"}],
        "probes": ["sanity", "injection"],
        "max_calls": 500,
    },
    "NewHackingReport": {"eval_id": "eval_abc", "gold": {"grader": EXACT}, "items": 50},
}
_ROWS: Schema = {
    "type": ["array", "null"],
    "items": OBJECT,
    "description": "Lines of labelled rows: item, sample, and one of label, score and preferred; or file_id.",
}
_TIME: Schema = {"type": ["integer", "null"]}
_DOLLARS: Schema = {"type": ["number", "null"]}
_MAYBE_NAMES: Schema = {"type": ["array", "null"], "items": STRING}
_COMMON: Schema = {
    "name": {"type": ["string", "null"], "maxLength": 256},
    "budget": budget(ABOVE_0),
    "deadline_s": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": LONGEST_S},
    "seed": {"type": ["integer", "null"], "minimum": 0},
    "dry_run": {"type": ["boolean", "null"], "description": "Only tell what it would take; nothing is asked or kept."},
}
STANDING: Schema = {
    **shape({"grade": STRING, "checked_at": _TIME, "id": MAYBE_STRING}, {"was": STRING}),
    "description": "How its last check went; never checked; or stale, and what the grade was.",
}


_STATUS: Schema = {"enum": list(CHECK_STATUSES)}
_COURSE: Schema = {
    "progress": shape({"answered": COUNT, "failed": COUNT, "questions": COUNT, "tokens": COUNT, "dollars": _DOLLARS}),
    "created_at": INTEGER,
    "started_at": _TIME,
    "ended_at": _TIME,
    "error": maybe(shape({"code": STRING, "message": STRING})),
}
"""How far it is, of both."""


def check_schemas() -> dict[str, Schema]:
    return {**_judge_checks(), **_hacking_reports()}


def _judge_checks() -> dict[str, Schema]:
    return {
        "NewJudgeCheck": shape(
            {"grader": ref("Grader")},
            {
                "rows": _ROWS,
                "file_id": MAYBE_STRING,
                "probes": {"type": ["array", "null"], "items": {"enum": list(PROBES)}},
                "max_calls": {"type": ["integer", "null"], "minimum": 1},
                "require": {"enum": [*REQUIRED, None]},
                "probe_rows": {"type": ["integer", "null"], "minimum": 30, "maximum": 10_000},
                **dict.fromkeys(("answer", "question", "reference"), MAYBE_STRING),
                "pair": {**_MAYBE_NAMES, "minItems": 2, "maxItems": 2},
                "pair_labels": _MAYBE_NAMES,
                **_COMMON,
            },
        ),
        "JudgeCheckPlan": shape(
            {
                "object": {"const": "judge_check.plan"},
                "grader": ref("CheckedGrader"),
                "rows": OBJECT,
                "plan": ref("CheckPlan"),
            }
        ),
        "CheckedGrader": shape(
            {
                **dict.fromkeys(("name", "key", "fingerprint"), MAYBE_STRING),
                "type": STRING,
                "version": {"type": ["integer", "null"]},
                "models": {"type": "array", "items": STRING},
            }
        ),
        "CheckPlan": shape(
            {
                "calls": COUNT,
                "tokens": COUNT,
                "dollars": _DOLLARS,
                "probes": {
                    "type": "array",
                    "items": shape(
                        {"name": STRING, "calls": COUNT, "tokens": COUNT, "dollars": _DOLLARS, "status": STRING},
                        {"why": MAYBE_STRING},
                    ),
                },
                "notes": {"type": "array", "items": STRING},
            }
        ),
        "JudgeCheck": shape(
            {
                "object": {"const": "judge_check"},
                "id": STRING,
                "status": _STATUS,
                "name": MAYBE_STRING,
                "grader": ref("CheckedGrader"),
                "file_id": MAYBE_STRING,
                "rows": OBJECT,
                "require": STRING,
                "seed": INTEGER,
                "plan": ref("CheckPlan"),
                **_COURSE,
                "grade": MAYBE_STRING,
            },
            {"report": OBJECT},
        ),
        "JudgeCheckList": list_of("JudgeCheck"),
    }


def _hacking_reports() -> dict[str, Schema]:
    return {
        "NewHackingReport": shape(
            {"eval_id": STRING},
            {
                "runs": {
                    "type": ["array", "null"],
                    "items": STRING,
                    "minItems": 2,
                    "maxItems": MOST_RUNS,
                    "uniqueItems": True,
                    "description": "In the order of their steps; without them, all that are completed.",
                },
                "criterion": {"type": ["string", "null"], "description": "Whose reward it is, by name or id."},
                "gold": {
                    "type": ["object", "null"],
                    "properties": {"grader": ref("Grader"), "rows": _ROWS, "file_id": MAYBE_STRING},
                    "additionalProperties": False,
                },
                "items": {"type": ["integer", "null"], "minimum": 2, "maximum": MOST_ITEMS},
                "series": {
                    "type": ["object", "null"],
                    "additionalProperties": {"type": "array", "items": NUMBER},
                    "maxProperties": 20,
                },
                **_COMMON,
            },
        ),
        "HackingReportPlan": shape(
            {
                "object": {"const": "hacking_report.plan"},
                "eval_id": STRING,
                "runs": {"type": "array", "items": STRING},
                "criterion": STRING,
                "plan": ref("ReportPlan"),
            }
        ),
        "ReportPlan": shape({"calls": COUNT, "tokens": COUNT, "dollars": _DOLLARS, "gold": MAYBE_STRING}),
        "HackingReport": shape(
            {
                "object": {"const": "hacking_report"},
                "id": STRING,
                "status": _STATUS,
                "name": MAYBE_STRING,
                "eval_id": STRING,
                "runs": {"type": "array", "items": STRING},
                "criterion": STRING,
                "plan": ref("ReportPlan"),
                **_COURSE,
                "state": MAYBE_STRING,
            },
            {"report": OBJECT, "items": COUNT},
        ),
        "HackingReportList": list_of("HackingReport"),
    }
