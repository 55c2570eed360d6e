"""Registered graders over HTTP, and references to them wherever a grader may stand."""

import asyncio
import concurrent.futures
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairmark.store import Store
from tests.evals.working import python
from tests.server.client import EXACT, RUN, VALIDATE, Answer, Server, run_body, wait_for
from tests.server.conftest import Start
from tests.server.databases import DATABASES, Api, serving
from tests.store.conftest import postgres  # noqa: F401  # a fixture

OTHER = {**EXACT, "operation": "ne"}
FUNCTION = "async def grade(thread: StringThread) -> float:\n    return 1.0\n"
JUDGE = {"type": "binary_judge", "model": "judge", "criteria": "It is polite."}
ROWS = [{"item": {"answer": "Paris"}, "sample": each} for each in ("Paris", "Rome")]
REWARDS = "/v1/rewards"
NUMBERS = itertools.count(1)


class Project:
    """One project of a server, by its key."""

    def __init__(self, server: Server, headers: dict[str, str]) -> None:
        self.server = server
        self.headers = headers

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self.server.request(method, path, body, self.headers)

    def post(self, path: str, body: Any) -> Answer:
        return self.ask("POST", path, body)

    def get(self, path: str) -> Answer:
        return self.ask("GET", path)

    def patch(self, key: str, **changes: Any) -> Answer:
        return self.ask("PATCH", f"/v1/graders/{key}", changes)

    def register(self, key: str, grader: Any = EXACT, **more: Any) -> dict[str, Any]:
        answer = self.post("/v1/graders", {"key": key, "grader": grader, **more})
        assert answer.status == 201, answer.body
        made: dict[str, Any] = answer.json()
        return made

    def keys(self) -> list[str]:
        return [each["key"] for each in self.get("/v1/graders?limit=100").json()["data"]]

    def grade(self, grader: Any, sample: str = "Paris") -> dict[str, Any]:
        answer = self.post(RUN, run_body(grader, sample))
        assert answer.status == 200, answer.body
        result: dict[str, Any] = answer.json()
        return result

    def new_eval(self, *criteria: dict[str, Any]) -> str:
        config = {"type": "custom", "item_schema": {}}
        answer = self.post("/v1/evals", {"data_source_config": config, "testing_criteria": list(criteria)})
        assert answer.status == 201, answer.body
        return f"/v1/evals/{answer.json()['id']}"

    def new_run(self, where: str, rows: int = 2) -> dict[str, Any]:
        answer = self.try_run(where, rows)
        assert answer.status == 201, answer.body
        run: dict[str, Any] = answer.json()
        return run

    def try_run(self, where: str, rows: int = 2) -> Answer:
        content = [{"item": {"answer": "Paris"}, "sample": {"output_text": "Paris"}}] * rows
        return self.post(
            f"{where}/runs", {"data_source": {"type": "jsonl", "source": {"type": "file_content", "content": content}}}
        )

    def ended(self, where: str, run: dict[str, Any]) -> dict[str, Any]:
        path = f"{where}/runs/{run['id']}"
        wait_for(lambda: self.get(path).json()["status"] not in ("queued", "in_progress"), 60)
        found: dict[str, Any] = self.get(path).json()
        assert found["status"] == "completed", found
        return found

    def results(self, where: str, run: dict[str, Any]) -> list[dict[str, Any]]:
        """The first criterion's result of every item."""
        path, after, found = f"{where}/runs/{run['id']}/output_items?limit=100", "", []
        while True:
            page = self.get(path + after).json()
            found += [each["results"][0] for each in page["data"]]
            if not page["has_more"]:
                return found
            after = f"&after={page['last_id']}"


def new_key(project: str, home: Path, url: str | None) -> str:
    async def make() -> str:
        store = await Store.open(url, home, exclusive=False)
        try:
            return await store.keys.create(project, "test")
        finally:
            await store.close()

    return asyncio.run(make())


@pytest.fixture(scope="module", params=DATABASES)
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    with serving(request, request.param) as started:
        yield started


@pytest.fixture(scope="module")
def ours(api: Api) -> Project:
    return Project(api, {"authorization": f"Bearer {new_key('ours', api.home, api.database)}"})


@pytest.fixture(scope="module")
def theirs(api: Api) -> Project:
    return Project(api, {"authorization": f"Bearer {new_key('theirs', api.home, api.database)}"})


@pytest.fixture
def key() -> str:
    """One that no other test has."""
    return f"grader-{next(NUMBERS)}"


def reference(key: str, **more: Any) -> dict[str, Any]:
    return {"type": "registered", "key": key, **more}


def both(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    return {"type": "multi", "graders": {"a": one, "b": two}, "calculate_output": "(a + b) / 2"}


# The routes.


def test_a_registered_grader_is_found_by_key_and_by_id(ours: Project, key: str) -> None:
    made = ours.register(key, EXACT, name="Exact", description="why")
    assert made.pop("warnings") == []
    assert (made["object"], made["key"], made["name"], made["description"]) == ("grader", key, "Exact", "why")
    assert (made["version"], made["locked"], made["grader"], made["grader_type"]) == (1, False, EXACT, "STRING_CHECK")
    assert made["project"]["key"] == "ours"
    for place in (key, made["id"]):
        assert ours.get(f"/v1/graders/{place}").json() == made


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


# References.


def test_a_reference_grades_as_its_grader_does_and_the_result_names_the_version(ours: Project, key: str) -> None:
    made = ours.register(key)
    note = {"id": made["id"], "key": key, "version": 1}
    inline, by_reference = ours.grade(EXACT), ours.grade(reference(key))
    assert by_reference.pop("registered") == [note]
    assert "registered" not in inline
    for result in (inline, by_reference):
        result["metadata"].pop("execution_time")
    assert by_reference == inline
    for answer in ours.post(REWARDS, {"grader": reference(key), "rows": ROWS}).json()["rewards"]:
        assert answer["registered"] == [note]
    lines = ours.post(REWARDS, {"grader": reference(key), "rows": ROWS, "stream": True}).body.splitlines()
    assert [json.loads(line)["reward"] for line in lines] == [1.0, 0.0]
    result = ours.grade(both(reference(key, version=1), {**EXACT, "registered": {"key": "forged"}}))
    assert (result["reward"], result["registered"]) == (1.0, [note])
    assert "registered" not in ours.grade({**EXACT, "registered": {"key": "forged"}})


def test_a_reference_is_validated_as_what_it_leads_to(ours: Project, key: str) -> None:
    ours.register(key)
    body = ours.post(VALIDATE, {"grader": reference(key, name="mine")}).json()
    assert (body["valid"], body["grader"]["operation"], body["grader"]["name"]) == (True, "eq", "mine")
    answer = ours.post(VALIDATE, {"grader": both(reference(key), reference("lost"))})
    assert (answer.status, answer.error["param"], answer.json()["valid"]) == (400, "grader.graders.b.key", False)


@pytest.mark.parametrize(
    ("grader", "param", "code"),
    [
        (reference("lost"), "grader.key", "not_found"),
        (reference("Lost"), "grader.key", "invalid_value"),
        ({"type": "registered"}, "grader.key", "missing_required_parameter"),
        (reference("lost", version="1"), "grader.version", "invalid_type"),
        (reference("lost", version=1), "grader.version", "not_found"),
        (reference("lost", operation="eq"), "grader.operation", "unknown_parameter"),
        (both(EXACT, reference("lost")), "grader.graders.b.key", "not_found"),
    ],
)
@pytest.mark.parametrize("path", [RUN, VALIDATE, REWARDS])
def test_a_reference_that_leads_nowhere_is_a_400(
    ours: Project, path: str, grader: dict[str, Any], param: str, code: str
) -> None:
    answer = ours.post(path, {**run_body(grader), "rows": ROWS})
    assert (answer.status, answer.error["param"], answer.error["code"]) == (400, param, code)


def test_an_update_counts_at_once_and_a_pinned_version_stays(ours: Project, key: str) -> None:
    ours.register(key)
    ours.register(f"{key}-both", both(reference(key), reference(key, version=1)))
    for _ in range(3):  # so that whatever remembers has something to remember
        assert ours.grade(reference(key))["reward"] == 1.0
        assert ours.grade(reference(f"{key}-both"))["reward"] == 1.0
    ours.patch(key, grader=OTHER)
    assert ours.grade(reference(key))["reward"] == 0.0
    assert ours.grade(reference(key))["registered"][0]["version"] == 2
    assert ours.grade(reference(key, version=1))["reward"] == 1.0
    assert ours.grade(reference(f"{key}-both"))["reward"] == 0.5
    assert [
        each["reward"] for each in ours.post(REWARDS, {"grader": reference(key), "rows": ROWS}).json()["rewards"]
    ] == [
        0.0,
        1.0,
    ]
    ours.ask("DELETE", f"/v1/graders/{key}")
    assert ours.post(RUN, run_body(reference(key))).status == 400
    answer = ours.post(RUN, run_body(reference(f"{key}-both")))
    assert (answer.status, answer.error["param"]) == (400, "grader.graders.a.key")
    ours.register(key)
    assert ours.grade(reference(key))["reward"] == 1.0


def test_a_grader_that_others_refer_to_may_change_into_one_that_does_not_fit(ours: Project, key: str) -> None:
    ours.register(key)
    ours.register(f"{key}-both", both(reference(key), EXACT))
    ours.patch(key, grader=both(EXACT, OTHER))
    answer = ours.post(RUN, run_body(reference(f"{key}-both")))
    assert (answer.status, answer.error["param"]) == (400, "grader.graders.a.type")
    assert "a multi grader cannot stand inside a multi grader" in answer.error["message"]


def test_the_same_text_means_each_projects_own_grader(ours: Project, theirs: Project, key: str) -> None:
    """However often it is asked, and through whatever remembers it: the routes' caches go by project."""
    ours.register(key, EXACT)
    body = run_body(reference(key))
    assert ours.post(RUN, body).json()["reward"] == 1.0
    for path in (RUN, VALIDATE, REWARDS):
        assert theirs.post(path, {**body, "rows": ROWS}).status == 400
    theirs.register(key, OTHER)
    for _ in range(3):
        assert ours.post(RUN, body).json()["reward"] == 1.0
        assert theirs.post(RUN, body).json()["reward"] == 0.0
        assert theirs.post(VALIDATE, body).json()["grader"]["operation"] == "ne"
        assert ours.post(VALIDATE, body).json()["grader"]["operation"] == "eq"
    made = ours.get(f"/v1/graders/{key}").json()
    for answer in (
        theirs.get(f"/v1/graders/{made['id']}"),
        theirs.patch(made["id"], name="x"),
        theirs.ask("DELETE", f"/v1/graders/{made['id']}"),
    ):
        assert answer.status == 404
    theirs.ask("DELETE", f"/v1/graders/{key}")
    assert ours.post(RUN, body).json()["reward"] == 1.0
    assert theirs.post(RUN, body).status == 400


# Evals and runs.


def test_an_eval_keeps_the_reference_and_a_run_pins_the_version(ours: Project, key: str) -> None:
    made = ours.register(key)
    where = ours.new_eval(reference(key), both(EXACT, reference(key, version=1)))
    first, second = ours.get(where).json()["testing_criteria"]
    assert {**first, "id": ""} == {**reference(key, name="exact"), "id": ""}
    assert second["graders"]["b"] == reference(key, version=1)
    run = ours.new_run(where)
    note = {"id": made["id"], "key": key, "version": 1}
    assert run["graders"] == [
        {"testing_criteria": first["id"], **note},
        {"testing_criteria": second["id"], **note},
    ]
    done = ours.ended(where, run)
    assert done["graders"] == run["graders"]
    assert done["result_counts"]["passed"] == 2
    assert [each["registered"] for each in ours.results(where, run)] == [[note], [note]]
    assert {each["type"] for each in ours.results(where, run)} == {"string-check-grader"}
    plain = ours.new_eval(EXACT)
    assert "graders" not in ours.new_run(plain)


def test_a_run_keeps_its_version_in_all_items_whatever_happens_meanwhile(ours: Project, key: str) -> None:
    """Changed in the middle of one run, deleted in the middle of the next."""
    slow = "import time; time.sleep(0.004); return {}"
    ours.register(key, python(slow.format("1.0")))
    where = ours.new_eval(reference(key))

    def begun(rows: int) -> dict[str, Any]:
        run = ours.new_run(where, rows)
        path = f"{where}/runs/{run['id']}"
        wait_for(lambda: ours.get(path).json()["result_counts"]["total"] > 0)
        assert ours.get(path).json()["status"] == "in_progress"
        return run

    first = begun(2000)
    assert ours.patch(key, grader=python(slow.format("0.0"))).json()["version"] == 2
    second = begun(2000)
    assert ours.ask("DELETE", f"/v1/graders/{key}").status == 200
    for run, version, score in ((first, 1, 1.0), (second, 2, 0.0)):
        ours.ended(where, run)
        found = ours.results(where, run)
        assert len(found) == 2000
        assert {(each["registered"][0]["version"], each["score"], each["status"]) for each in found} == {
            (version, score, "graded")
        }


def test_a_run_whose_grader_is_gone_or_no_longer_fits_is_refused_with_the_criterion(ours: Project, key: str) -> None:
    ours.register(key)
    where = ours.new_eval(EXACT, reference(key))
    ours.patch(key, grader={"type": "custom"})
    answer = ours.try_run(where)
    assert (answer.status, answer.error["param"]) == (400, "testing_criteria[1].type")
    ours.ask("DELETE", f"/v1/graders/{key}")
    answer = ours.try_run(where)
    assert (answer.status, answer.error["param"], answer.error["code"]) == (400, "testing_criteria[1].key", "not_found")
    assert f'there is no registered grader "{key}"' in answer.error["message"]
    assert ours.get(f"{where}/runs").json()["data"] == []


def test_an_eval_with_a_reference_that_leads_nowhere_is_not_created(ours: Project) -> None:
    before = ours.get("/v1/evals?limit=100").json()["data"]
    config = {"type": "custom", "item_schema": {}}
    criteria = [EXACT, reference("lost"), both(EXACT, reference("Lost"))]
    answer = ours.post("/v1/evals", {"data_source_config": config, "testing_criteria": criteria})
    assert answer.status == 400
    assert [each["path"] for each in answer.json()["problems"]] == [
        "testing_criteria[1].key",
        "testing_criteria[2].graders.b.key",
    ]
    assert ours.get("/v1/evals?limit=100").json()["data"] == before


def test_an_evals_reference_is_of_its_own_project(ours: Project, theirs: Project, key: str) -> None:
    ours.register(key, EXACT)
    theirs.register(key, OTHER)
    for project, passed in ((ours, 1), (theirs, 0)):
        where = project.new_eval(reference(key))
        assert project.ended(where, project.new_run(where, 1))["result_counts"]["passed"] == passed


# Many at once.


def test_of_two_writers_at_once_one_wins_and_the_others_are_told(ours: Project, key: str) -> None:
    graders = [{**EXACT, "reference": str(number)} for number in range(8)]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        created = list(threads.map(lambda each: ours.post("/v1/graders", {"key": key, "grader": each}), graders))
        changed = list(
            threads.map(lambda each: ours.patch(key, grader={**each, "operation": "ne"}, version=1), graders)
        )
    assert sorted(each.status for each in created) == [201] + [409] * 7
    assert sorted(each.status for each in changed) == [200] + [409] * 7
    (won,) = [each.json() for each in changed if each.status == 200]
    found = ours.get(f"/v1/graders/{key}").json()
    assert (found["grader"], found["version"]) == (won["grader"], 2)
    assert len(ours.get(f"/v1/graders/{key}/versions").json()["data"]) == 2


def test_whoever_grades_while_others_change_gets_one_version_or_the_other(ours: Project, key: str) -> None:
    ours.register(key)

    def grade(_: int) -> tuple[int, float]:
        result = ours.grade(reference(key))
        return result["registered"][0]["version"] % 2, result["reward"]

    def change(number: int) -> int:
        return ours.patch(key, grader=OTHER if number % 2 == 0 else EXACT).status

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        graded = threads.map(grade, range(200))
        changed = [change(number) for number in range(20)]
        assert set(graded) <= {(1, 1.0), (0, 0.0)}
    assert set(changed) == {200}
    assert ours.grade(reference(key))["registered"][0]["version"] == 21


# A restart.


def test_a_run_that_goes_on_after_a_restart_keeps_its_version(start: Start, tmp_path: Path) -> None:
    home = tmp_path / "again"
    first = Project(start(home=home), {})
    first.register("slow", python("import time; time.sleep(0.01); return 1.0"))
    where = first.new_eval(reference("slow"))
    run = first.new_run(where, 500)
    wait_for(lambda: first.get(f"{where}/runs/{run['id']}").json()["result_counts"]["total"] > 0)
    first.server.stop(9)
    second = Project(start(home=home), {})
    second.patch("slow", grader=python("return 0.0"))
    second.ask("DELETE", "/v1/graders/slow")
    done = second.ended(where, run)
    assert [each["version"] for each in done["graders"]] == [1]
    found = second.results(where, run)
    assert len(found) == 500
    assert {(each["registered"][0]["version"], each["score"]) for each in found} == {(1, 1.0)}
