"""JSON Schemas of graders, made from the specs: for editors (`fairmark schema`) and for the API's own description."""

from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from fairmark import jsontext, references
from fairmark.graders import KINDS, Kind, all_kinds, find
from fairmark.graders.judging import REASONING_EFFORTS
from fairmark.graders.string_check import StringCheck
from fairmark.graders.wording import words_for
from fairmark.text.compiled import CompiledText
from fairmark.text.messages import BLOCKS, ROLES, Messages

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
MAYBE_STRING: Schema = {"type": ["string", "null"]}
KEY: Schema = {"type": "string", "pattern": f"^{references.KEY.pattern}$"}
VERSION: Schema = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
HERE = "#/$defs/"
"""Where the parts of a schema stand that is a file of its own."""


def shape(required: Schema, optional: Schema | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def published(kind: str | None = None) -> Schema:
    """The schema of grader files, of one kind or of all that there are. Raises InvalidGrader for an unknown kind.

    It refuses nothing that `validate` accepts. What only a parser can see, such as a wrong template, it lets pass.
    """
    if kind is not None and kind != references.TYPE:
        find(kind)
    kinds = all_kinds()
    parts = {name: _with_other_names(kinds[name].spec.other_names, of_kind(name, kinds[name], HERE)) for name in kinds}
    # A list of graders with names of their own is taken as well.
    inside = parts["multi"]["properties"]["graders"]
    inside |= {"type": ["object", "array"], "items": inside["additionalProperties"], "minItems": 1}
    parts[references.TYPE] = reference()
    for part in parts.values():
        part["properties"][references.SCHEMA] = {"description": "Where this schema is, for editors. It is ignored."}
    chosen = kind or "Grader"
    parts |= {"Message": message(), "Grader": _any_of([*kinds, references.TYPE])}
    return {
        "$schema": DRAFT,
        "title": "Fairmark grader" + (f": {kind}" if kind else ""),
        "$ref": f"{HERE}{chosen}",
        "$defs": {name: parts[name] for name in _needed(chosen, parts)},
    }


def _any_of(names: Sequence[str]) -> Schema:
    """One of these kinds, by its type: editors then offer, and complain about, that kind alone."""
    return {
        "description": "Templates such as {{ item.answer }} and {{ sample.output_text }} are filled in.",
        "type": "object",
        "properties": {"type": {"enum": list(names), "description": "The kind of grader."}},
        "required": ["type"],
        "allOf": [
            {"if": {"properties": {"type": {"const": name}}, "required": ["type"]}, "then": {"$ref": f"{HERE}{name}"}}
            for name in names
        ],
    }


def _needed(name: str, parts: Mapping[str, Schema]) -> list[str]:
    """The part of this name, and all that it refers to."""
    needed = [name]
    for part in needed:
        text = jsontext.write(parts[part])
        needed += [other for other in parts if other not in needed and f'"{HERE}{other}"' in text]
    return needed


def of_kind(name: str, kind: Kind, place: str) -> Schema:
    """The schema of one kind; `place` is where those it refers to stand: Grader and Message."""
    fields = kind.spec.model_fields
    return {
        "type": "object",
        "title": name,
        "description": kind.summary,
        "properties": {field: _field(name, field, info, place) for field, info in fields.items()},
        # A grader without a name is called by its type.
        "required": [field for field, info in fields.items() if info.is_required() and field != "name"],
    }


def _field(kind: str, field: str, info: FieldInfo, place: str) -> Schema:
    if field == "type":
        return {"const": kind}
    is_ours = kind in KINDS
    known = _special(kind, field, place) if is_ours or field == "name" else None
    schema = dict(known or _typed(info.annotation, place))
    words = words_for(kind, field) if is_ours or field in ("name", "pass_threshold") else None
    if words is not None:
        schema |= {"title": words.label, "description": words.described}
    elif info.description:
        schema["description"] = info.description
    if isinstance(info.default, (bool, int, float, str)):
        schema["default"] = info.default
    return schema


def _special(kind: str, field: str, place: str) -> Schema | None:
    """What says more, or takes more, than its type does, in our own kinds."""
    grader = {"$ref": f"{place}Grader"}
    pair: Schema = {"items": NUMBER, "minItems": 2, "maxItems": 2}
    match kind, field:
        case _, "name":
            return MAYBE_STRING
        case _, "operation":
            return {"enum": [*get_args(StringCheck.model_fields["operation"].annotation), "neq"]}
        case _, "range":
            return {"type": ["array", "null"], **pair}
        case _, "unsure":
            return {"type": "array", **pair}
        case _, "sampling_params":
            return {"type": ["object", "null"], "properties": _SAMPLING}
        case "binary_judge", "examples":
            return {"type": ["array", "null"], "items": OBJECT}
        case "binary_judge", "template_variables":
            return {"type": ["object", "null"]}
        case "cascade", "graders":
            return {"type": "array", "items": grader, "minItems": 2}
        case "multi", "graders":
            plain = {**grader, "not": {"properties": {"type": {"const": "multi"}}}}
            return {"type": "object", "additionalProperties": plain, "minProperties": 1}
    return None


_SAMPLING: Schema = {
    "temperature": {"type": ["number", "null"], "minimum": 0, "maximum": 2},
    "top_p": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
    "seed": {"type": ["integer", "null"]},
    "reasoning_effort": {"enum": [*REASONING_EFFORTS, None]},
}


def _typed(annotation: Any, place: str) -> Schema:
    """The schema of a spec's field, from its type. What a field's own parser refuses is not told."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _typed(inner[0], place)
    if origin in (Union, UnionType):
        known = [_typed(type_, place) for type_ in inner if type_ is not NoneType]
        return maybe(known[0]) if len(known) == 1 else {}
    if origin is Literal:
        return {"enum": list(inner)}
    if annotation is Messages:
        return {"type": "array", "items": {"$ref": f"{place}Message"}, "minItems": 1}
    if origin is Mapping:
        return OBJECT
    if origin is Sequence:
        return {"type": "array", "items": _typed(inner[0], place)}
    if isinstance(annotation, type) and issubclass(annotation, (str, CompiledText)):
        return STRING
    return {bool: BOOLEAN, int: INTEGER, float: NUMBER}.get(annotation, {})


def _with_other_names(other_names: Mapping[str, str], schema: Schema) -> Schema:
    """The same for files that spell fields otherwise, as OpenAI's and Azure's guides do."""
    fields, required, rules = dict(schema["properties"]), list(schema["required"]), []
    for other, field in other_names.items():
        # Beside the field's own name it is not looked at.
        rules.append({"anyOf": [{"required": [field]}, {"properties": {other: fields[field]}}]})
        schema["properties"][other] = {"description": f"Another spelling of {field}."}
        if field in required:
            required.remove(field)
            names = [field, *(name for name, meant in other_names.items() if meant == field)]
            rules.append({"anyOf": [{"required": [name]} for name in names]})
    return {**schema, "required": required, **({"allOf": rules} if rules else {})}


def reference() -> Schema:
    return {
        **shape(
            {"type": {"const": references.TYPE}, "key": KEY},
            {"version": maybe(VERSION), "name": MAYBE_STRING, "pass_threshold": {"type": ["number", "null"]}},
        ),
        "title": references.TYPE,
        "description": "A grader that is kept under this key.",
        "additionalProperties": False,
    }


def message() -> Schema:
    block = shape({"type": {"enum": [*BLOCKS, "text", "image_url"]}})
    blocks = {"type": "array", "items": {"anyOf": [STRING, block]}, "minItems": 1}
    return shape(
        {
            "role": {"enum": list(ROLES)},
            "content": {"anyOf": [STRING, block, blocks]},
        }
    )
