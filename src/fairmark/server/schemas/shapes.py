"""What schemas are made of: the small ones, and how they are put together."""

from fairmark.evals.eval_calls import MOST_METADATA
from fairmark.schema import (
    BOOLEAN,
    INTEGER,
    KEY,
    MAYBE_STRING,
    NUMBER,
    OBJECT,
    STRING,
    VERSION,
    Schema,
    maybe,
    shape,
)

__all__ = [
    "ABOVE_0", "BOOLEAN", "COUNT", "IMPORTED", "INTEGER", "KEY", "MAYBE_STRING", "METADATA", "NUMBER", "OBJECT",
    "PLACE", "REGISTERED", "SOME_STRING", "STRING", "VERSION", "Schema", "budget", "list_of", "maybe", "ref", "shape",
]  # fmt: skip

PLACE = "#/components/schemas/"
COUNT: Schema = {"type": "integer", "minimum": 0}
SOME_STRING: Schema = {"type": "string", "minLength": 1}
ABOVE_0: Schema = {"type": "number", "exclusiveMinimum": 0}
METADATA: Schema = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "string", "maxLength": 512},
    "propertyNames": {"maxLength": 64},
    "maxProperties": MOST_METADATA,
}


def ref(name: str) -> Schema:
    return {"$ref": f"{PLACE}{name}"}


def list_of(name: str) -> Schema:
    return shape(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": ref(name)},
            "first_id": MAYBE_STRING,
            "last_id": MAYBE_STRING,
            "has_more": BOOLEAN,
        }
    )


def budget(limit: Schema) -> Schema:
    limits = dict.fromkeys(("tokens", "dollars"), limit)
    return {"type": ["object", "null"], "properties": limits, "additionalProperties": False}


IMPORTED: Schema = {
    **shape({"source": STRING, "at": INTEGER}),
    "description": "Where it came from and when, of what was made elsewhere.",
}
REGISTERED: Schema = {
    **shape({"id": STRING, "key": STRING, "version": VERSION}),
    "description": "A version of a registered grader that was used.",
}
