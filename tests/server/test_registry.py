"""Registered graders over HTTP: the routes, scores that are pushed, packs."""

from typing import Any

import pytest

from tests.server.client import EXACT, RUN, VALIDATE, run_body
from tests.server.databases import Api
from tests.server.projects import (
    FUNCTION,
    JUDGE,
    OTHER,
    REWARDS,
    ROWS,
    Project,
    api,
    both,
    key,
    ours,
    reference,
    theirs,
)
from tests.store.conftest import postgres  # noqa: F401  # a fixture

__all__ = ["api", "key", "ours", "theirs"]


# The routes.


def test_a_registered_grader_is_found_by_key_and_by_id(ours: Project, key: str) -> None:
    made = ours.register(key, EXACT, name="Exact", description="why")
    assert made.pop("warnings") == []
    assert (made["object"], made["key"], made["name"], made["description"]) == ("grader", key, "Exact", "why")
    assert (made["version"], made["locked"], made["grader"], made["grader_type"]) == (1, False, EXACT, "STRING_CHECK")
    assert made["project"]["key"] == "ours"
    for place in (key, made["id"]):
        assert ours.get(f"/v1/graders/{place}").json() == made


def test_where_an_editor_finds_the_schema_is_neither_kept_nor_a_change(ours: Project, key: str) -> None:
    made = ours.register(key, {"$schema": "./grader.schema.json", **EXACT})
    assert made["grader"] == EXACT
    assert ours.patch(key, grader={"$schema": "elsewhere", **EXACT}).json()["version"] == 1
    assert ours.post(VALIDATE, {"grader": {"$schema": "x", **reference(key)}}).status == 200


def test_graders_are_listed_in_pages(ours: Project) -> None:
    made = [ours.register(f"listed-{letter}") for letter in "bac"]
    page = ours.get("/v1/graders?limit=2&order=desc").json()
    assert [each["key"] for each in page["data"]] == ["listed-c", "listed-a"]
    assert (page["first_id"], page["last_id"], page["has_more"]) == (made[2]["id"], made[1]["id"], True)
    page = ours.get(f"/v1/graders?limit=1&order=desc&after={page['last_id']}").json()
    assert [each["key"] for each in page["data"]] == ["listed-b"]
    answer = ours.get("/v1/graders?after=lost")
    assert (answer.status, answer.error["param"]) == (400, "after")


def test_an_update_makes_a_version_and_keeps_the_old_one(ours: Project, key: str) -> None:
    made = ours.register(key, EXACT, description="why")
    changed = ours.patch(key, grader=OTHER, name="Other").json()
    assert (changed["version"], changed["grader"], changed["name"], changed["description"]) == (
        2,
        OTHER,
        "Other",
        "why",
    )
    assert changed["id"] == made["id"]
    assert ours.get(f"/v1/graders/{key}?version=1").json()["grader"] == EXACT
    listed = ours.get(f"/v1/graders/{key}/versions").json()
    assert [(each["object"], each["version"], each["grader"]) for each in listed["data"]] == [
        ("grader.version", 2, OTHER),
        ("grader.version", 1, EXACT),
    ]
    page = ours.get(f"/v1/graders/{key}/versions?limit=1&order=asc").json()
    assert ([each["version"] for each in page["data"]], page["last_id"], page["has_more"]) == ([1], "1", True)
    assert ours.get(f"/v1/graders/{key}/versions?after=9").status == 400
    assert ours.patch(key, grader=OTHER).json()["version"] == 2
    assert ours.patch(made["id"], name=None, description=None).json()["name"] == key


def test_a_deleted_grader_is_gone_and_its_key_is_free(ours: Project, key: str) -> None:
    made = ours.register(key)
    answer = ours.ask("DELETE", f"/v1/graders/{key}")
    assert answer.json() == {"object": "grader.deleted", "deleted": True, "id": made["id"], "key": key}
    assert ours.get(f"/v1/graders/{key}").status == 404
    assert ours.register(key)["id"] != made["id"]


def test_a_locked_grader_is_423_until_it_is_unlocked(ours: Project, key: str) -> None:
    ours.register(key)
    assert ours.patch(key, locked=True).json()["locked"] is True
    for answer in (ours.patch(key, grader=OTHER), ours.patch(key, name="x"), ours.ask("DELETE", f"/v1/graders/{key}")):
        assert (answer.status, answer.error["code"], answer.error["type"]) == (423, "locked", "invalid_request_error")
        assert answer.error["message"] == f'the grader "{key}" is locked. Unlock it first.'
    assert ours.grade(reference(key))["reward"] == 1.0
    assert ours.patch(key, locked=False).json()["locked"] is False
    assert ours.patch(key, grader=OTHER).json()["version"] == 2


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"grader": EXACT}, "key", "missing_required_parameter"),
        ({"key": "a"}, "grader", "missing_required_parameter"),
        ({"key": None, "grader": EXACT}, "key", "invalid_value"),
        ({"key": "No", "grader": EXACT}, "key", "invalid_value"),
        ({"key": "a" * 129, "grader": EXACT}, "key", "invalid_value"),
        ({"key": f"grader_{32 * 'a'}", "grader": EXACT}, "key", "invalid_value"),
        ({"key": "a", "grader": None}, "grader", "invalid_type"),
        ({"key": "a", "grader": EXACT, "name": 5}, "name", "invalid_type"),
        ({"key": "a", "grader": EXACT, "description": []}, "description", "invalid_type"),
        ({"key": "a", "grader": {**EXACT, "operation": "equals"}}, "grader.operation", "invalid_value"),
        ({"key": "a", "grader": reference("b")}, "grader.type", "invalid_value"),
        ({"key": "a", "grader": both(reference("lost"), EXACT)}, "grader.graders.a.key", "not_found"),
        (
            {"key": "a", "grader": both({"type": "registered"}, EXACT)},
            "grader.graders.a.key",
            "missing_required_parameter",
        ),
        ({"key": "a", "grader": {**JUDGE, "user_template": "{{#if x}}"}}, "grader.user_template", "invalid_value"),
        (
            {"key": "a", "grader": {**JUDGE, "user_template": "{{x.__class__}}"}},
            "grader.user_template",
            "invalid_value",
        ),
        ([], None, "invalid_type"),
    ],
)
def test_what_cannot_be_registered_is_a_400_and_nothing_is_kept(
    ours: Project, body: Any, param: str | None, code: str
) -> None:
    before = ours.keys()
    answer = ours.post("/v1/graders", body)
    assert (answer.status, answer.error["param"], answer.error["code"]) == (400, param, code)
    assert ours.keys() == before


def test_a_function_that_fails_is_a_400_with_its_checks_and_nothing_is_kept(ours: Project, key: str) -> None:
    source = "def grade(thread):\n    return 1\n"
    answer = ours.post("/v1/graders", {"key": key, "grader": {"type": "function", "source": source}})
    assert (answer.status, answer.error["param"], answer.error["code"]) == (
        400,
        "grader.source",
        "function_check_failed",
    )
    assert answer.error["message"].startswith("structure: no top-level async def grade")
    body = answer.json()
    assert body["valid"] is False
    assert [(each["name"], each["passed"]) for each in body["checks"]] == [
        ("size", True),
        ("syntax", True),
        ("structure", False),
    ]
    assert ours.get(f"/v1/graders/{key}").status == 404
    kept = ours.register(key, {"type": "function", "source": FUNCTION})
    answer = ours.patch(key, grader=both({"type": "function", "source": source}, EXACT))
    assert (answer.status, answer.error["param"]) == (400, "grader.graders.a.source")
    assert ours.get(f"/v1/graders/{key}").json() == {name: kept[name] for name in kept if name != "warnings"}


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"locked": "yes"}, "locked"),
        ({"version": "1"}, "version"),
        ({"version": True}, "version"),
        ({"name": 5}, "name"),
        ({"grader": None}, "grader"),
        ({"grader": reference("a")}, "grader.type"),
        ({"grader": {**EXACT, "operation": "equals"}}, "grader.operation"),
    ],
)
def test_a_wrong_change_is_a_400_and_changes_nothing(
    ours: Project, key: str, change: dict[str, Any], param: str
) -> None:
    ours.register(key)
    before = ours.get(f"/v1/graders/{key}").json()
    answer = ours.patch(key, **{"description": "changed", **change})
    assert (answer.status, answer.error["param"]) == (400, param)
    assert ours.get(f"/v1/graders/{key}").json() == before


def test_collisions_are_409(ours: Project, key: str) -> None:
    ours.register(key)
    answer = ours.post("/v1/graders", {"key": key, "grader": OTHER})
    assert (answer.status, answer.error["param"], answer.error["code"]) == (409, "key", "duplicate_key")
    assert ours.patch(key, grader=OTHER, version=1).status == 200
    answer = ours.patch(key, grader={**EXACT, "operation": "like"}, version=1)
    assert (answer.status, answer.error["param"], answer.error["code"]) == (409, "version", "version_conflict")
    assert ours.get(f"/v1/graders/{key}").json()["grader"] == OTHER


@pytest.mark.parametrize("lost", ["lost", "Lost", "grader_" + 32 * "0", "%00", "a" * 300])
def test_what_is_not_there_is_404(ours: Project, lost: str) -> None:
    asked = [
        ours.get(f"/v1/graders/{lost}"),
        ours.get(f"/v1/graders/{lost}/versions"),
        ours.get(f"/v1/graders/{lost}/scores"),
        ours.patch(lost, grader=EXACT),
        ours.ask("DELETE", f"/v1/graders/{lost}"),
        ours.post(f"/v1/graders/{lost}/scores", {"scores": []}),
    ]
    assert [(each.status, each.error["code"]) for each in asked] == [(404, "not_found")] * 6


def test_a_version_that_is_not_there_is_404_and_one_that_is_no_number_400(ours: Project, key: str) -> None:
    ours.register(key)
    assert ours.get(f"/v1/graders/{key}?version=2").status == 404
    for wrong in ("0", "x", "1.0", "-1", "9" * 30):
        answer = ours.get(f"/v1/graders/{key}?version={wrong}")
        assert (answer.status, answer.error["param"]) == (400, "version")


def test_who_names_another_project_is_told_that_the_key_opens_one(ours: Project, key: str) -> None:
    ours.register(key, project="ours")
    scores = {"scores": [], "project": "theirs"}
    asked = [
        ours.post("/v1/graders", {"key": "x", "grader": EXACT, "project": "theirs"}),
        ours.patch(key, name="x", project="theirs"),
        ours.post(f"/v1/graders/{key}/scores", scores),
        ours.post("/v1/grader_pack", {"graders": [], "project": 5}),
        *(ours.get(f"{path}?project=theirs") for path in ("/v1/graders", f"/v1/graders/{key}", "/v1/grader_pack")),
        *(ours.get(f"/v1/graders/{key}/{part}?project=theirs") for part in ("versions", "scores")),
        ours.ask("DELETE", f"/v1/graders/{key}?project=theirs"),
    ]
    for answer in asked:
        assert (answer.status, answer.error["param"], answer.error["code"]) == (403, "project", "wrong_project")
        assert answer.error["message"].endswith('This key opens the project "ours" only.')
    assert ours.get(f"/v1/graders/{key}?project=ours").json()["name"] == key


def test_without_a_key_nothing_is_told(api: Api, ours: Project, key: str) -> None:
    ours.register(key)
    for method, path in (("GET", "/v1/graders"), ("GET", f"/v1/graders/{key}"), ("GET", "/v1/grader_pack")):
        assert api.request(method, path).status == 401


# Scores for custom graders.


def test_scores_are_pushed_and_listed(ours: Project, key: str) -> None:
    ours.register(key, {"type": "custom"})
    path = f"/v1/graders/{key}/scores"
    scores = [{"sample_id": "b", "value": 1, "reasoning": "why"}, {"sample_id": "a/\u00e4", "value": -0.5}]
    assert ours.post(path, {"scores": scores}).json() == {"object": "grader.scores", "key": key, "accepted": 2}
    ours.post(path, {"scores": [{"sample_id": "b", "value": 0.25}]})
    page = ours.get(path).json()
    found = [(each["sample_id"], each["value"], each["reasoning"], each["grader_key"]) for each in page["data"]]
    assert found == [("b", 0.25, None, key), ("a/\u00e4", -0.5, None, key)]
    assert [each["sample_id"] for each in ours.get(f"{path}?limit=1&after=b").json()["data"]] == ["a/\u00e4"]


@pytest.mark.parametrize(
    ("scores", "param"),
    [
        (None, "scores"),
        ({}, "scores"),
        ([{"sample_id": "x", "value": 1}] * 10_001, "scores"),
        ([{"sample_id": "x", "value": 1}, 5], "scores[1]"),
        ([{"value": 1}], "scores[0].sample_id"),
        ([{"sample_id": "", "value": 1}], "scores[0].sample_id"),
        ([{"sample_id": "x" * 513, "value": 1}], "scores[0].sample_id"),
        ([{"sample_id": "x"}], "scores[0].value"),
        ([{"sample_id": "x", "value": True}], "scores[0].value"),
        ([{"sample_id": "x", "value": "1"}], "scores[0].value"),
        ([{"sample_id": "x", "value": 10**400}], "scores[0].value"),
        ([{"sample_id": "x", "value": 1, "reasoning": 5}], "scores[0].reasoning"),
    ],
)
def test_wrong_scores_are_a_400_and_none_is_kept(ours: Project, key: str, scores: Any, param: str) -> None:
    ours.register(key, {"type": "custom"})
    answer = ours.post(f"/v1/graders/{key}/scores", {} if scores is None else {"scores": scores})
    assert (answer.status, answer.error["param"]) == (400, param)
    assert ours.get(f"/v1/graders/{key}/scores").json()["data"] == []


def test_only_a_custom_grader_takes_scores_and_it_does_nothing_else(ours: Project, key: str) -> None:
    ours.register(key)
    answer = ours.post(f"/v1/graders/{key}/scores", {"scores": [{"sample_id": "x", "value": 1}]})
    assert (answer.status, answer.error["code"]) == (409, "not_custom")
    ours.register(f"{key}-custom", {"type": "custom"})
    for grader in (reference(f"{key}-custom"), both(EXACT, reference(f"{key}-custom")), {"type": "custom"}):
        for path, body in ((RUN, run_body(grader)), (REWARDS, {"grader": grader, "rows": ROWS})):
            answer = ours.post(path, body)
            assert (answer.status, answer.error["code"]) == (409, "not_gradable")
            assert "its scores are computed elsewhere" in answer.error["message"]
    assert ours.post(VALIDATE, {"grader": reference(f"{key}-custom")}).status == 200
    answer = ours.post(
        "/v1/evals",
        {"data_source_config": {"type": "custom", "item_schema": {}}, "testing_criteria": [reference(f"{key}-custom")]},
    )
    assert (answer.status, answer.error["param"]) == (400, "testing_criteria[0].type")


# Packs.


def test_a_pack_goes_from_one_project_to_another(ours: Project, theirs: Project, key: str) -> None:
    ours.register(key, EXACT, name="Exact")
    ours.register(f"{key}-both", both(reference(key), OTHER))
    pack = ours.get("/v1/grader_pack").json()
    keys = [each["key"] for each in pack["graders"]]
    assert keys == sorted(ours.keys())
    pack["graders"] = [each for each in pack["graders"] if each["key"] in (key, f"{key}-both")]
    imported = theirs.post("/v1/grader_pack", pack)
    assert imported.json() == {
        "object": "grader.pack.imported",
        "graders": {key: "created", f"{key}-both": "created"},
    }
    assert theirs.get(f"/v1/graders/{key}").json()["name"] == "Exact"
    assert theirs.grade(reference(f"{key}-both"))["reward"] == 0.5
    assert set(theirs.post("/v1/grader_pack", pack).json()["graders"].values()) == {"unchanged"}
    pack["graders"][0]["grader"]["operation"] = "ne"
    answer = theirs.post("/v1/grader_pack", pack)
    assert (answer.status, answer.error["code"]) == (409, "duplicate_key")
    assert theirs.post("/v1/grader_pack", {**pack, "update": True}).json()["graders"][key] == "updated"
    theirs.patch(key, locked=True)
    pack["graders"][0]["grader"]["operation"] = "like"
    assert theirs.post("/v1/grader_pack", {**pack, "update": True}).status == 423


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "graders"),
        ({"graders": [], "update": 1}, "update"),
        ({"graders": [{"key": "x"}]}, "graders[0].grader"),
        ({"graders": [{"key": "No", "grader": EXACT}]}, "graders[0].key"),
        ({"graders": [{"key": "x", "grader": {**EXACT, "operation": "?"}}]}, "graders[0].grader.operation"),
        ({"graders": [{"key": "x", "grader": {"type": "function", "source": "x"}}]}, "graders[0].grader.source"),
        ({"graders": [{"key": "x", "grader": "{}"}]}, "graders[0].grader"),
    ],
)
def test_a_wrong_pack_is_a_400_with_the_place_and_nothing_is_kept(ours: Project, body: Any, param: str) -> None:
    before = ours.keys()
    if body.get("graders"):
        body = {**body, "graders": [*body["graders"], {"key": "pack-right", "grader": EXACT}]}
    answer = ours.post("/v1/grader_pack", body)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert ours.keys() == before


# Endpoints.


def test_an_endpoint_that_is_down_is_registered_with_a_warning(ours: Project, key: str) -> None:
    made = ours.register(key, {"type": "endpoint", "url": "http://127.0.0.1:9", "info": 5})
    (warning,) = made["warnings"]
    assert warning.startswith("$.url: ")
    assert made["grader_config"] == {"url": "http://127.0.0.1:9", "version": None, "description": None}
    assert ours.get(f"/v1/graders/{key}").status == ours.get("/v1/graders").status == 200
    tried = ours.post("/v1/endpoint_test", {"url": "http://127.0.0.1:9"})
    assert tried.json()["status"] == "offline"
    assert tried.json()["error"]
    for wrong in ({}, {"url": 5}):
        assert ours.post("/v1/endpoint_test", wrong).error["param"] == "url"
