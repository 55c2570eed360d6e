"""The schemas of imports in the OpenAPI document."""

from typing import Any

from fairmark.moving.import_requests import ASKED_FOR, ON_CLASH
from fairmark.moving.pull import SECTIONS
from fairmark.server.schemas.shapes import INTEGER, MAYBE_STRING, OBJECT, STRING, Schema, list_of, maybe, shape
from fairmark.store.imports import IMPORT_STATUSES

EXAMPLES: dict[str, Any] = {"NewImport": {"source": "archive", "archive": "my-archive", "on_clash": "skip"}}
_ON_CLASH: Schema = {"enum": list(ON_CLASH)}
_SECTIONS: Schema = {"type": "array", "items": {"enum": list(SECTIONS)}, "minItems": 1}


def import_schemas() -> dict[str, Schema]:
    return {
        "NewImport": shape(
            {"source": {"enum": list(ASKED_FOR)}},
            {
                "base_url": MAYBE_STRING,
                "key_env": {
                    "type": ["string", "null"],
                    "description": "A variable of the server's environment. Keys themselves are not taken.",
                },
                "archive": {
                    "type": ["string", "null"],
                    "description": "A folder in imports/PROJECT of the server's home.",
                },
                "only": maybe(_SECTIONS),
                "since": {"type": ["string", "number", "null"]},
                "on_clash": _ON_CLASH,
                "api_version": MAYBE_STRING,
                "auth": {"type": ["string", "null"], "enum": ["key", "bearer", None]},
            },
        ),
        "ImportUpload": shape(
            {"file": {"type": "string", "format": "binary"}},
            {"name": STRING, "on_clash": _ON_CLASH, "accept_drafts": {"enum": ["true", "false"]}, "judge": STRING},
        ),
        "Import": shape(
            {
                "object": {"const": "import"},
                "id": STRING,
                "status": {"enum": list(IMPORT_STATUSES)},
                "source": {"enum": [*ASKED_FOR, "file"]},
                **dict.fromkeys(("base_url", "key_env", "archive", "file"), MAYBE_STRING),
                "only": maybe(_SECTIONS),
                "since": {"type": ["number", "null"]},
                "on_clash": _ON_CLASH,
                "created_at": INTEGER,
                "ended_at": {"type": ["integer", "null"]},
                "progress": OBJECT,
                "error": maybe(shape({"message": STRING})),
            },
            {"report": {"type": ["object", "null"]}},
        ),
        "ImportList": list_of("Import"),
    }
