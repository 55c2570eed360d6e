"""References to registered graders, wherever a grader may stand."""

import concurrent.futures
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.evals.working import python
from tests.server.client import EXACT, RUN, VALIDATE, run_body, wait_for
from tests.server.conftest import Start
from tests.server.projects import OTHER, REWARDS, ROWS, Project, api, both, key, ours, reference, theirs
from tests.store.conftest import postgres  # noqa: F401  # a fixture

__all__ = ["api", "key", "ours", "theirs"]


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
        deadline = time.monotonic() + 30
        run = ours.new_run(where, rows)
        path = f"{where}/runs/{run['id']}"
        while (status := ours.get(path).json()["status"]) == "queued":
            assert time.monotonic() < deadline
        assert status == "in_progress"
        return run

    first = begun(400)
    assert ours.patch(key, grader=python(slow.format("0.0"))).json()["version"] == 2
    second = begun(400)
    assert ours.ask("DELETE", f"/v1/graders/{key}").status == 200
    for run, version, score in ((first, 1, 1.0), (second, 2, 0.0)):
        ours.ended(where, run)
        found = ours.results(where, run)
        assert len(found) == 400
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


@pytest.mark.on_both
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


@pytest.mark.on_both
def test_whoever_grades_while_others_change_gets_one_version_or_the_other(ours: Project, key: str) -> None:
    ours.register(key)

    def grade(_: int) -> tuple[int, float]:
        result = ours.grade(reference(key))
        return result["registered"][0]["version"] % 2, result["reward"]

    def change(number: int) -> int:
        return ours.patch(key, grader=OTHER if number % 2 == 0 else EXACT).status

    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        graded = threads.map(grade, range(120))
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
    run = first.new_run(where, 300)
    wait_for(lambda: first.get(f"{where}/runs/{run['id']}").json()["result_counts"]["total"] > 0)
    first.server.stop(9)
    second = Project(start(home=home), {})
    second.patch("slow", grader=python("return 0.0"))
    second.ask("DELETE", "/v1/graders/slow")
    done = second.ended(where, run)
    assert [each["version"] for each in done["graders"]] == [1]
    found = second.results(where, run)
    assert len(found) == 300
    assert {(each["registered"][0]["version"], each["score"]) for each in found} == {(1, 1.0)}
