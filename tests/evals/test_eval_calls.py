"""The calls about evals that API and page share: what is taken, what is refused, and how one is shown."""

from typing import Any

import pytest

from fairmark.errors import ApiError
from fairmark.evals import eval_calls
from fairmark.registry.lookup import Registry
from fairmark.store import Eval, Store
from tests.evals.working import EXACT, PROJECT

BODY = {
    "name": "mine",
    "data_source_config": {"type": "custom", "item_schema": {"type": "object"}},
    "testing_criteria": [EXACT],
    "metadata": {"team": "a"},
}


async def create(store: Store, **changes: Any) -> Eval:
    return await eval_calls.new_eval(store, Registry(store.graders.find), PROJECT, {**BODY, **changes})


async def test_an_eval_is_created_found_and_shown(store: Store) -> None:
    created = await create(store)
    assert await eval_calls.find_eval(store, PROJECT, created.id) == created
    shown = eval_calls.eval_wire(created)
    assert (shown["object"], shown["name"], shown["metadata"]) == ("eval", "mine", {"team": "a"})
    assert shown["data_source_config"]["schema"]["properties"]["item"] == {"type": "object"}
    assert shown["testing_criteria"][0]["id"]
    with pytest.raises(ApiError) as refused:
        await eval_calls.find_eval(store, "other", created.id)
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("changes", "param", "code"),
    [
        ({"data_source_config": None}, "data_source_config", "missing_required_parameter"),
        ({"data_source_config": []}, "data_source_config", "invalid_type"),
        ({"data_source_config": {"type": "odd"}}, "data_source_config.type", "invalid_value"),
        ({"data_source_config": {"type": "custom"}}, "data_source_config.item_schema", "missing_required_parameter"),
        ({"testing_criteria": None}, "testing_criteria", "missing_required_parameter"),
        ({"testing_criteria": [{**EXACT, "operation": "is"}]}, "testing_criteria[0].operation", "invalid_value"),
        ({"name": 5}, "name", "invalid_type"),
        ({"metadata": {"a": 5}}, "metadata.a", "invalid_type"),
        ({"metadata": {"a" * 65: "x"}}, f"metadata.{'a' * 64}", "invalid_value"),
        ({"metadata": {str(number): "x" for number in range(17)}}, "metadata", "invalid_value"),
    ],
)
async def test_what_is_wrong_is_refused_with_its_place_and_nothing_is_kept(
    in_sqlite: Any, changes: dict[str, Any], param: str, code: str
) -> None:
    store = await in_sqlite.open()
    with pytest.raises(ApiError) as refused:
        await create(store, **changes)
    assert refused.value.status == 400
    assert (refused.value.param or "")[:40] == param[:40]
    assert refused.value.code == code
    assert (await store.evals.list(PROJECT, 1)).data == []


def test_references_inside_an_item_schema_are_moved_with_it() -> None:
    item = {"properties": {"a": {"$ref": "#/properties/b"}, "c": {"$ref": "#/$defs/x"}, "d": {"const": {"$ref": "#"}}}}
    schema = eval_calls._row_schema({**item, "$defs": {"x": {}}}, with_sample=True)
    moved = schema["properties"]["item"]["properties"]
    assert moved["a"]["$ref"] == "#/properties/item/properties/b"
    assert moved["c"]["$ref"] == "#/$defs/x"
    assert moved["d"] == {"const": {"$ref": "#"}}
    assert (schema["$defs"], schema["required"]) == ({"x": {}}, ["item", "sample"])
