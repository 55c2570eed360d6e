"""The schemas of labels."""

from typing import Any

from fairmark.server.schemas.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
    MAYBE_STRING,
    NUMBER,
    STRING,
    Schema,
    list_of,
    maybe,
    shape,
)
from fairmark.trust.labelled import PREFERENCES

EXAMPLES: dict[str, Any] = {
    "NewLabel": {"run_id": "evalrun_1", "row": 0, "label": "pass", "rater": "kim", "note": "Right, if terse."},
    "LabelText": '{"item": {"question": "…"}, "sample": "…", "label": "pass", "rater": "kim"}\n',
}

_SIDE: Schema = {"enum": ["a", "b", None]}
_VALUE: dict[str, Schema] = {
    "label": MAYBE_STRING,
    "score": maybe(NUMBER),
    "preferred": {"enum": [*PREFERENCES, None]},
}


def label_schemas() -> dict[str, Schema]:
    figures = dict.fromkeys(("rate", "low", "high"), NUMBER)
    return {
        "LabelText": STRING,  # JSONL; documented as text, which more tools can send
        "NewLabel": shape(
            {"run_id": STRING},
            {
                "item_id": MAYBE_STRING,
                "row": maybe(COUNT),
                **_VALUE,
                "criterion": MAYBE_STRING,
                "rater": MAYBE_STRING,
                "note": MAYBE_STRING,
                "seconds": maybe(NUMBER),
                "picked": MAYBE_STRING,
                "chance": maybe(NUMBER),
                "weight": maybe(NUMBER),
                "side": _SIDE,
                "other_run_id": MAYBE_STRING,
                "id": MAYBE_STRING,
                "ago_s": maybe(NUMBER),
            },
        ),
        "Label": shape(
            {"object": {"enum": ["label", "label.deleted"]}, "id": STRING},
            {
                "run_id": STRING,
                "eval_id": STRING,
                "item_id": STRING,
                "row": COUNT,
                "criterion": MAYBE_STRING,
                **_VALUE,
                "rater": STRING,
                "note": MAYBE_STRING,
                "seconds": maybe(NUMBER),
                "picked": MAYBE_STRING,
                "chance": maybe(NUMBER),
                "weight": maybe(NUMBER),
                "side": _SIDE,
                "other_run_id": MAYBE_STRING,
                "repeated": BOOLEAN,
                "labelled_at": NUMBER,
                "created_at": INTEGER,
                "deleted": BOOLEAN,
            },
        ),
        "LabelList": list_of("Label"),
        "LabelImport": shape(
            {
                "object": {"const": "label.import"},
                "run_id": STRING,
                "labels": COUNT,
                "older": COUNT,
                "without_value": COUNT,
            }
        ),
        "CorrectedRate": shape(
            {
                "object": {"const": "corrected_rate"},
                "schema": INTEGER,
                "run_id": STRING,
                **figures,
                "judged": NUMBER,
                "weight": NUMBER,
                "labels": COUNT,
                "others": COUNT,
                "error": NUMBER,
                "labels_only": shape(figures),
                "ungraded": COUNT,
                "unmatched": COUNT,
                "words": STRING,
            }
        ),
    }
