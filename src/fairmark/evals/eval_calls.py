"""The calls about evals that the API and the web page share: find one, create one, and how one is shown."""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from fairmark import jsontext
from fairmark.errors import InvalidGrader, StoreUnavailable
from fairmark.evals.criteria import load_criteria, new_criteria, pinned_criteria
from fairmark.evals.engine import Engine
from fairmark.readiness import retired
from fairmark.refusals import check_name, invalid, invalid_grader, missing, not_found, wrong_type
from fairmark.registry.lookup import Registry
from fairmark.store import Eval, Store

MOST_METADATA = 16
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


async def find_eval(store: Store, project: str, eval_id: str) -> Eval:
    """Raises ApiError where the project has none of this id."""
    eval_ = await store.evals.get(project, eval_id)
    if eval_ is None:
        raise not_found("eval", eval_id)
    return eval_


async def new_eval(store: Store, registry: Registry, project: str, body: dict[str, Any]) -> Eval:
    """The eval that a body asks for, created. Raises ApiError."""
    config = read_config(body.get("data_source_config"))
    if body.get("testing_criteria") is None:
        raise missing("testing_criteria", "It takes a list of graders.")
    try:
        criteria = await new_criteria(body["testing_criteria"], partial(registry.expand, project))
    except InvalidGrader as error:
        raise invalid_grader(error, "testing_criteria") from None
    name, metadata = read_name(body) or "", read_metadata(body) or {}
    return await store.evals.create(project, name, metadata, config, criteria)


async def warnings_about(eval_: Eval, registry: Registry, project: str) -> list[str]:
    """What whoever creates an eval should know: what its criteria warn of, such as misspelt fields, and which of its
    judges are gone or will go, and what comes instead. Nothing stops: an alias may still be written before the first
    run."""
    criteria = eval_.criteria
    with contextlib.suppress(InvalidGrader, StoreUnavailable):  # the eval is there, whatever becomes of this
        criteria = await pinned_criteria(criteria, partial(registry.expand, project)) or criteria
    return await asyncio.to_thread(_warnings, criteria)


def _warnings(criteria: Sequence[dict[str, Any]]) -> list[str]:
    return [
        f"testing_criteria[{index}]{text.removeprefix('$')}"
        for index, criterion in enumerate(load_criteria(criteria))
        if criterion.spec is not None
        for text in (*criterion.spec.all_warnings, *map(str, retired(criterion.spec)))
    ]


async def delete_eval(store: Store, engine: Engine, project: str, eval_: Eval) -> None:
    """With its runs, also those that are under way."""
    await store.evals.delete(project, eval_.id)
    engine.cancel(eval_.id)


def eval_wire(eval_: Eval) -> dict[str, Any]:
    if eval_.imported is not None and eval_.received is not None:
        return _received_wire(eval_, eval_.received, eval_.imported)
    return own_eval_wire(eval_)


def own_eval_wire(eval_: Eval) -> dict[str, Any]:
    return {
        "object": "eval",
        "id": eval_.id,
        "name": eval_.name,
        "data_source_config": eval_.data_source_config,
        "testing_criteria": eval_.criteria,
        "created_at": eval_.created_at,
        "metadata": eval_.metadata,
    }


def _received_wire(eval_: Eval, received: bytes, imported: dict[str, Any]) -> dict[str, Any]:
    """As it was received, but for what was changed since; beside it where it came from, and which criteria cannot run
    here."""
    shown = {**jsontext.members(received), **changed_since(eval_)}
    if any(criterion.get("runnable") is False for criterion in eval_.criteria):
        shown["testing_criteria"] = eval_.criteria
    return {**shown, "id": eval_.id, "imported": imported_wire(imported)}


def changed_since(eval_: Eval) -> dict[str, Any]:
    """Which of its members an eval from elsewhere no longer has as they were received."""
    received = jsontext.decode(eval_.received or b"{}")
    now = {"name": eval_.name, "metadata": eval_.metadata}
    before = {"name": received.get("name") or "", "metadata": received.get("metadata") or {}}
    return {name: value for name, value in now.items() if value != before[name]}


def imported_wire(imported: dict[str, Any]) -> dict[str, Any]:
    return {"source": imported.get("source"), "at": imported.get("at")}


def read_config(config: Any) -> dict[str, Any]:
    """The config as it is shown: the schema of a whole row in place of the item's."""
    where = "data_source_config"
    if config is None:
        raise missing(where, 'It takes an object: {"type": "custom", "item_schema": {…}}.')
    if not isinstance(config, dict):
        raise wrong_type(where, "an object", config)
    kind = config.get("type")
    if kind == "custom":
        schema = config.get("item_schema")
        if schema is None:
            raise missing(f"{where}.item_schema", "It takes a JSON schema of the items.")
        if not isinstance(schema, dict):
            raise wrong_type(f"{where}.item_schema", "an object", schema)
        with_sample = config.get("include_sample_schema", False)
        if with_sample is not None and not isinstance(with_sample, bool):
            raise wrong_type(f"{where}.include_sample_schema", "true or false", with_sample)
        return {"type": kind, "schema": _row_schema(schema, bool(with_sample))}
    if kind in ("logs", "stored_completions"):
        plain = {"type": "object"}
        row = {"type": "object", "properties": {"item": plain, "sample": plain}, "required": ["item", "sample"]}
        metadata = config.get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            raise wrong_type(f"{where}.metadata", "an object", metadata)
        for key, value in (metadata or {}).items():
            if not isinstance(value, str):  # what is stored has strings there, so no run could ever find anything
                raise wrong_type(f"{where}.metadata.{jsontext.shorten(key, 64)}", "a string", value)
        return {"type": kind, "metadata": metadata, "schema": row}
    mistake = "missing" if kind is None else f"unknown type {jsontext.quote(str(kind))}"
    code = "missing_required_parameter" if kind is None else "invalid_value"
    raise invalid(f"{where}.type: {mistake}. Use one of: custom, logs, stored_completions.", f"{where}.type", code)


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


def read_name(body: dict[str, Any]) -> str | None:
    name = body.get("name")
    if name is not None and not isinstance(name, str):
        raise wrong_type("name", "a string", name)
    check_name(name)
    return name


def read_metadata(body: dict[str, Any]) -> dict[str, str] | None:
    metadata = body.get("metadata")
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
