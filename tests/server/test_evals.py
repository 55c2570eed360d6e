from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.client import EXACT, Answer, Server
from tests.server.databases import DATABASES, Api, serving
from tests.store.conftest import postgres  # noqa: F401  # a fixture

CUSTOM = {"type": "custom", "item_schema": {"type": "object", "properties": {"answer": {"type": "string"}}}}
NEW: dict[str, Any] = {"data_source_config": CUSTOM, "testing_criteria": [EXACT]}


@pytest.fixture(scope="module", params=DATABASES)
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    with serving(request, request.param) as started:
        yield started


def config(api: Api, **given: Any) -> dict[str, Any]:
    answer = api.post("/v1/evals", {**NEW, "data_source_config": given})
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json()["data_source_config"]
    return found


def test_an_eval_comes_back_with_the_schema_of_a_row_and_criteria_with_ids(api: Api) -> None:
    answer = api.post("/v1/evals", {**NEW, "name": "capitals", "metadata": {"team": "geo"}, "unknown": 1})
    made = answer.json()
    assert answer.status == 201
    assert list(made) == [
        "object", "id", "name", "data_source_config", "testing_criteria", "created_at", "metadata"
    ]  # fmt: skip
    assert made["data_source_config"] == {
        "type": "custom",
        "schema": {"type": "object", "properties": {"item": CUSTOM["item_schema"]}, "required": ["item"]},
    }
    (criterion,) = made["testing_criteria"]
    assert criterion["id"].startswith("exact-")
    assert {key: criterion[key] for key in EXACT} == EXACT
    assert (made["object"], made["name"], made["metadata"]) == ("eval", "capitals", {"team": "geo"})
    assert api.get(f"/v1/evals/{made['id']}").json() == made


def test_name_and_metadata_may_be_left_out(api: Api) -> None:
    made = api.post("/v1/evals", NEW).json()
    assert (made["name"], made["metadata"]) == ("", {})


def test_the_sample_is_in_the_schema_where_it_is_asked_for(api: Api) -> None:
    shown = config(api, type="custom", item_schema={}, include_sample_schema=True)["schema"]
    assert shown["required"] == ["item", "sample"]
    assert set(shown["properties"]["sample"]["properties"]) >= {"output_text", "output_json", "output_tools", "choices"}
    assert (
        "sample" not in config(api, type="custom", item_schema={}, include_sample_schema=None)["schema"]["properties"]
    )


@pytest.mark.parametrize("kind", ["logs", "stored_completions"])
def test_configs_of_logs_have_a_schema_of_plain_objects(api: Api, kind: str) -> None:
    plain = {"type": "object"}
    assert config(api, type=kind, metadata={"use": "chat"}) == {
        "type": kind,
        "metadata": {"use": "chat"},
        "schema": {"type": "object", "properties": {"item": plain, "sample": plain}, "required": ["item", "sample"]},
    }


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for inner in schema.values():
            yield from references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from references(inner)


def resolve(schema: Any, reference: str) -> Any:
    """What a reference means in a schema: a JSON pointer from its root."""
    assert reference.startswith("#")
    for step in reference.removeprefix("#").split("/")[1:]:
        schema = schema[step.replace("~1", "/").replace("~0", "~")]
    return schema


NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}


@pytest.mark.parametrize(
    ("item_schema", "meant"),
    [
        ({"$defs": {"Node": NODE}, "properties": {"first": {"$ref": "#/$defs/Node"}}}, [NODE, NODE]),
        ({"$defs": {"Node": NODE}, "$ref": "#/$defs/Node"}, [NODE, NODE]),
        ({"definitions": {"A/b": {"type": "string"}}, "items": {"$ref": "#/definitions/A~1b"}}, [{"type": "string"}]),
    ],
)
def test_references_in_an_item_schema_mean_the_same_in_the_schema_of_a_row(
    api: Api, item_schema: dict[str, Any], meant: list[Any]
) -> None:
    shown = config(api, type="custom", item_schema=item_schema)["schema"]
    found = [resolve(shown, each) for each in references(shown["properties"])]
    assert found[: len(meant)] == meant
    assert all(isinstance(each, dict) for each in found)


def test_references_to_the_item_schema_itself_still_mean_the_item(api: Api) -> None:
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "child": {"$ref": "#"}}}
    other = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/properties/a"}}}
    shown = config(api, type="custom", item_schema=tree)["schema"]
    (reference,) = references(shown)
    assert resolve(shown, reference) == shown["properties"]["item"]
    shown = config(api, type="custom", item_schema=other)["schema"]
    (reference,) = references(shown)
    assert resolve(shown, reference) == {"type": "integer"}


@pytest.mark.parametrize(
    ("given", "param", "code"),
    [
        ({"testing_criteria": [EXACT]}, "data_source_config", "missing_required_parameter"),
        ({"data_source_config": CUSTOM}, "testing_criteria", "missing_required_parameter"),
        ({**NEW, "data_source_config": "custom"}, "data_source_config", "invalid_type"),
        ({**NEW, "data_source_config": {}}, "data_source_config.type", "missing_required_parameter"),
        ({**NEW, "data_source_config": {"type": "csv"}}, "data_source_config.type", "invalid_value"),
        (
            {**NEW, "data_source_config": {"type": "custom"}},
            "data_source_config.item_schema",
            "missing_required_parameter",
        ),
        (
            {**NEW, "data_source_config": {"type": "custom", "item_schema": []}},
            "data_source_config.item_schema",
            "invalid_type",
        ),
        (
            {**NEW, "data_source_config": {**CUSTOM, "include_sample_schema": "yes"}},
            "data_source_config.include_sample_schema",
            "invalid_type",
        ),
        (
            {**NEW, "data_source_config": {"type": "logs", "metadata": 5}},
            "data_source_config.metadata",
            "invalid_type",
        ),
        (
            {**NEW, "data_source_config": {"type": "logs", "metadata": {"use": "x", "flag": True}}},
            "data_source_config.metadata.flag",
            "invalid_type",
        ),
        ({**NEW, "testing_criteria": []}, "testing_criteria", "invalid_value"),
        ({**NEW, "testing_criteria": EXACT}, "testing_criteria", "invalid_type"),
        (
            {**NEW, "testing_criteria": [EXACT, {**EXACT, "operation": "equals"}]},
            "testing_criteria[1].operation",
            "invalid_value",
        ),
        (
            {
                **NEW,
                "testing_criteria": [
                    {"type": "text_similarity", "input": "a", "reference": "b", "evaluation_metric": "bleu"}
                ],
            },
            "testing_criteria[0].pass_threshold",
            "missing_required_parameter",
        ),
        ({**NEW, "name": 5}, "name", "invalid_type"),
        ({**NEW, "metadata": []}, "metadata", "invalid_type"),
        ({**NEW, "metadata": {f"key{n}": "" for n in range(17)}}, "metadata", "invalid_value"),
        ({**NEW, "metadata": {"count": 5}}, "metadata.count", "invalid_type"),
        ({**NEW, "metadata": {"note": "x" * 513}}, "metadata.note", "invalid_value"),
        ({**NEW, "metadata": {"k" * 65: "x"}}, f"metadata.{'k' * 63}…", "invalid_value"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place_and_its_code(
    api: Api, given: dict[str, Any], param: str, code: str
) -> None:
    answer = api.post("/v1/evals", given)
    assert answer.status == 400
    assert (answer.error["param"], answer.error["code"]) == (param, code)
    assert param.split(".")[-1].split("[")[0] in answer.error["message"]


def test_an_update_changes_name_and_metadata_and_keeps_what_is_left_out(api: Api) -> None:
    made = api.post("/v1/evals", {**NEW, "name": "before", "metadata": {"a": "1"}}).json()
    where = f"/v1/evals/{made['id']}"
    assert api.post(where, {"name": "after", "testing_criteria": []}).json() == {**made, "name": "after"}
    assert api.post(where, {"metadata": {"b": "2"}}).json() == {**made, "name": "after", "metadata": {"b": "2"}}
    assert api.post(where, {"metadata": None, "name": None}).json() == {**made, "name": "", "metadata": {}}
    assert api.get(where).json() == {**made, "name": "", "metadata": {}}
    assert api.post(where, {"name": 5}).error["param"] == "name"


def test_names_with_half_an_emoji_and_nul_come_back(api: Api) -> None:
    name = "half \ud83d and \0"
    made = api.post("/v1/evals", {**NEW, "name": name}).json()
    assert made["name"] == name
    assert api.get(f"/v1/evals/{made['id']}").json() == made


def test_a_deleted_eval_is_gone_with_all_its_runs(api: Api) -> None:
    made = api.post("/v1/evals", NEW).json()
    where = f"/v1/evals/{made['id']}"
    inline = {"type": "jsonl", "source": {"type": "file_content", "content": [{"item": {"answer": "x"}}]}}
    run = api.post(f"{where}/runs", {"data_source": inline}).json()
    gone = api.request("DELETE", where)
    assert (gone.status, gone.json()) == (200, {"object": "eval.deleted", "deleted": True, "eval_id": made["id"]})
    for path in (where, f"{where}/runs", f"{where}/runs/{run['id']}", f"{where}/runs/{run['id']}/output_items"):
        assert api.get(path).status == 404
    assert api.request("DELETE", where).status == 404


@pytest.mark.parametrize("eval_id", ["eval_0123", "x", "%00", "eval%2F..%2Fx", "e" * 300])
def test_unknown_evals_are_not_found(api: Api, eval_id: str) -> None:
    answers: list[Answer] = [
        api.get(f"/v1/evals/{eval_id}"),
        api.post(f"/v1/evals/{eval_id}", {"name": "x"}),
        api.request("DELETE", f"/v1/evals/{eval_id}"),
        api.get(f"/v1/evals/{eval_id}/runs"),
        api.post(f"/v1/evals/{eval_id}/runs", {"data_source": {}}),
    ]
    assert [answer.status for answer in answers] == [404] * 5
    assert all(answer.error["message"] for answer in answers)


def names(answer: Answer) -> list[str]:
    return [each["name"] for each in answer.json()["data"]]


def test_lists_are_paged_in_both_orders_and_by_update(api: Api) -> None:
    page = api.get("/v1/evals?limit=100").json()
    while page["data"]:  # what other tests left
        for each in page["data"]:
            api.request("DELETE", f"/v1/evals/{each['id']}")
        page = api.get("/v1/evals?limit=100").json()
    assert page == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
    made = [api.post("/v1/evals", {**NEW, "name": f"e{n}"}).json() for n in range(5)]
    first = api.get("/v1/evals?limit=2")
    assert names(first) == ["e0", "e1"]
    assert (first.json()["first_id"], first.json()["last_id"]) == (made[0]["id"], made[1]["id"])
    assert first.json()["has_more"] is True
    api.post("/v1/evals", {**NEW, "name": "e5"})  # while somebody pages
    assert names(api.get(f"/v1/evals?after={made[1]['id']}")) == ["e2", "e3", "e4", "e5"]
    assert names(api.get(f"/v1/evals?order=desc&limit=3&after={made[4]['id']}")) == ["e3", "e2", "e1"]
    api.post(f"/v1/evals/{made[2]['id']}", {"metadata": {"touched": "yes"}})
    assert names(api.get("/v1/evals?order_by=updated_at&order=desc")) == ["e2", "e5", "e4", "e3", "e1", "e0"]
    assert names(api.get("/v1/evals?nobody=knows")) == ["e0", "e1", "e2", "e3", "e4", "e5"]


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        (f"limit={'9' * 5000}", "limit"),
        ("order=up", "order"),
        ("order_by=name", "order_by"),
        ("after=eval_unknown", "after"),
        ("after=%00", "after"),
    ],
)
def test_a_wrong_query_is_refused(api: Api, query: str, param: str) -> None:
    answer = api.get(f"/v1/evals?{query}")
    assert (answer.status, answer.error["param"]) == (400, param)


def test_a_misspelt_field_is_told_when_the_eval_is_created(api: Api) -> None:
    misspelt = {**EXACT, "name": "other", "refrence": "x"}
    answer = api.post("/v1/evals", {**NEW, "testing_criteria": [EXACT, misspelt]})
    told = "testing_criteria[1].refrence: unknown field, kept but not used. Did you mean reference?"
    assert (answer.status, answer.json()["warnings"]) == (201, [told])


def test_judges_that_are_gone_are_told_when_the_eval_is_created_and_only_then(tmp_path: Path) -> None:
    judge = {"type": "score_model", "name": "judge", "range": [0, 1], "input": [{"role": "user", "content": "Good?"}]}
    server = Server(tmp_path / "home")
    try:
        criteria = [EXACT, {**judge, "model": "o3-mini"}, {"type": "registered", "key": "kept"}]
        kept = {**judge, "model": "gpt-4", "pass_threshold": 0.5}
        assert server.post("/v1/graders", {"key": "kept", "grader": kept}).status == 201
        answer = server.post("/v1/evals", {**NEW, "testing_criteria": criteria})
        assert answer.status == 201, answer.body
        first, second = answer.json()["warnings"]
        assert first.startswith('testing_criteria[1].model: "o3-mini": OpenAI ended it on 2026-10-23')
        assert "gpt-5.6-sol" in first
        assert second.startswith('testing_criteria[2].model: "gpt-4": OpenAI ended it')
        assert "warnings" not in server.get(f"/v1/evals/{answer.json()['id']}").json()
        assert "warnings" not in server.post("/v1/evals", NEW).json()
    finally:
        server.stop()
