"""The schemas of files."""

from fairmark.server.files import ANCHOR, LONGEST_LIFE_S, PURPOSES, SECONDS, SHORTEST_LIFE_S
from fairmark.server.schemas.shapes import COUNT, IMPORTED, INTEGER, STRING, Schema, list_of, shape


def file_schemas() -> dict[str, Schema]:
    return {
        "Upload": {
            **shape(
                {"purpose": {"enum": list(PURPOSES)}, "file": {"type": "string", "format": "binary"}},
                {
                    ANCHOR: {"const": "created_at"},
                    SECONDS: {"type": "integer", "minimum": SHORTEST_LIFE_S, "maximum": LONGEST_LIFE_S},
                },
            ),
            "dependentRequired": {ANCHOR: [SECONDS], SECONDS: [ANCHOR]},
        },
        "File": shape(
            {
                "id": STRING,
                "object": {"const": "file"},
                "bytes": COUNT,
                "created_at": INTEGER,
                "filename": STRING,
                "purpose": {"enum": list(PURPOSES)},
                "status": {"const": "processed"},
            },
            {"expires_at": INTEGER, "imported": IMPORTED},
        ),
        "FileList": list_of("File"),
    }
