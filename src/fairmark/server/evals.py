"""Evals: what is to be graded and by which criteria."""

from functools import partial
from typing import Any, get_args

from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from fairmark import jsontext
from fairmark.errors import InvalidGrader
from fairmark.evals.criteria import new_criteria
from fairmark.serving.lists import read_query
from fairmark.serving.wire import (
    answer,
    invalid,
    invalid_grader,
    missing,
    not_found,
    page,
    project,
    read_object,
    state,
    wrong_type,
)
from fairmark.store import Eval
from fairmark.store.evals import OrderBy

MOST_METADATA = 16
ORDERED_BY: tuple[OrderBy, ...] = get_args(OrderBy)
_SAMPLE_SCHEMA = {
    "type": "object",
    "properties": {
        "model": {"type": "string"},
        "choices": {"type": "array", "items": {"type": "object"}},
        "output_text": {"type": "string"},
        "output_json": {},
        "output_tools": {"type": "array", "items": {"type": "object"}},
    },
}


async def create(request: Request) -> Response:
    return answer(eval_wire(await new_eval(request, await read_object(request))), 201)


async def new_eval(request: Request, given: dict[str, Any]) -> Eval:
    """The eval that a body asks for, created. Raises ApiError."""
    config = _data_source_config(given.get("data_source_config"))
    if given.get("testing_criteria") is None:
        raise missing("testing_criteria", "It takes a list of graders.")
    try:
        expand = partial(state(request).registry.expand, project(request))
        criteria = await new_criteria(given["testing_criteria"], expand)
    except InvalidGrader as error:
        raise invalid_grader(error, "testing_criteria") from None
    name, metadata = read_name(given) or "", read_metadata(given) or {}
    return await state(request).store.evals.create(project(request), name, metadata, config, criteria)


async def retrieve(request: Request) -> Response:
    return answer(eval_wire(await find_eval(request)))


async def update(request: Request) -> Response:
    given = await read_object(request)
    name: str | UnsetType = (read_name(given) or "") if "name" in given else UNSET
    metadata: dict[str, str] | UnsetType = (read_metadata(given) or {}) if "metadata" in given else UNSET
    eval_id = request.path_params["eval_id"]
    updated = await state(request).store.evals.update(project(request), eval_id, name=name, metadata=metadata)
    if updated is None:
        raise not_found("eval", eval_id)
    return answer(eval_wire(updated))


async def delete(request: Request) -> Response:
    found = await find_eval(request)
    await state(request).store.evals.delete(project(request), found.id)
    state(request).engine.cancel(found.id)
    return answer({"object": "eval.deleted", "deleted": True, "eval_id": found.id})


async def list_(request: Request) -> Response:
    query = read_query(request, limit=20, order="asc")
    order_by = query.choice("order_by", ORDERED_BY, "created_at")
    store = state(request).store
    found = await store.evals.list(project(request), query.limit, query.after, query.order, order_by, query.before)
    return page([(each.id, eval_wire(each)) for each in found.data], found.has_more)


async def find_eval(request: Request) -> Eval:
    eval_id = request.path_params["eval_id"]
    found = await state(request).store.evals.get(project(request), eval_id)
    if found is None:
        raise not_found("eval", eval_id)
    return found


def eval_wire(given: Eval) -> dict[str, Any]:
    return {
        "object": "eval",
        "id": given.id,
        "name": given.name,
        "data_source_config": given.data_source_config,
        "testing_criteria": given.criteria,
        "created_at": given.created_at,
        "metadata": given.metadata,
    }


def _data_source_config(given: Any) -> dict[str, Any]:
    """The config as it is shown: the schema of a whole row in place of the item's."""
    where = "data_source_config"
    if given is None:
        raise missing(where, 'It takes an object: {"type": "custom", "item_schema": {…}}.')
    if not isinstance(given, dict):
        raise wrong_type(where, "an object", given)
    kind = given.get("type")
    if kind == "custom":
        schema = given.get("item_schema")
        if schema is None:
            raise missing(f"{where}.item_schema", "It takes a JSON schema of the items.")
        if not isinstance(schema, dict):
            raise wrong_type(f"{where}.item_schema", "an object", schema)
        with_sample = given.get("include_sample_schema", False)
        if with_sample is not None and not isinstance(with_sample, bool):
            raise wrong_type(f"{where}.include_sample_schema", "true or false", with_sample)
        return {"type": kind, "schema": _row_schema(schema, bool(with_sample))}
    if kind in ("logs", "stored_completions"):
        plain = {"type": "object"}
        row = {"type": "object", "properties": {"item": plain, "sample": plain}, "required": ["item", "sample"]}
        metadata = given.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise wrong_type(f"{where}.metadata", "an object", metadata)
        return {"type": kind, "metadata": metadata, "schema": row}
    found = "missing" if kind is None else f"unknown type {jsontext.quote(str(kind))}"
    raise invalid(f"{where}.type: {found}. Use one of: custom, logs, stored_completions.", f"{where}.type")


def _row_schema(item: dict[str, Any], with_sample: bool) -> dict[str, Any]:
    if "$id" not in item:  # one with a name of its own is the root of its references wherever it stands
        item = _moved(item)
    schema: dict[str, Any] = {"type": "object", "properties": {"item": item}, "required": ["item"]}
    if with_sample:
        schema["properties"]["sample"] = _SAMPLE_SCHEMA
        schema["required"].append("sample")
    schema |= {name: item[name] for name in ("$defs", "definitions") if name in item}
    return schema


def _moved(schema: Any) -> Any:
    """The same schema further down in another: references count from the root, and it is no longer that.

    Those to definitions stay as they are, because the definitions are copied to the new root.
    """
    if isinstance(schema, list):
        return [_moved(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {name: inner if name in _VALUES else _moved(inner) for name, inner in schema.items()}
    match moved.get("$ref"):
        case str() as to if to == "#" or (to.startswith("#/") and not to.startswith(_DEFINITIONS)):
            moved["$ref"] = f"#/properties/item{to[1:]}"
    return moved


_DEFINITIONS = ("#/$defs/", "#/definitions/")
_VALUES = frozenset({"const", "default", "enum", "examples"})  # no schemas in there


def read_name(given: dict[str, Any]) -> str | None:
    name = given.get("name")
    if name is not None and not isinstance(name, str):
        raise wrong_type("name", "a string", name)
    return name


def read_metadata(given: dict[str, Any]) -> dict[str, str] | None:
    metadata = given.get("metadata")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise wrong_type("metadata", "an object", metadata)
    if len(metadata) > MOST_METADATA:
        raise invalid(f"metadata: found {len(metadata)} pairs. It takes at most {MOST_METADATA}.", "metadata")
    for key, value in metadata.items():
        where = f"metadata.{jsontext.shorten(key, 64)}"
        if not isinstance(value, str):
            raise wrong_type(where, "a string", value)
        if len(key) > 64 or len(value) > 512:
            raise invalid(f"{where}: too long. A key has at most 64 characters, a value 512.", where)
    return metadata
