"""Moving in and grading again, with a real server: what was loaded beside it, its wire form, and the judges' cache."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import command
from tests.evals.house import Models, open_house
from tests.moving import hosted
from tests.moving.hosted import three_rows
from tests.server.client import Server, wait_for
from tests.server.conftest import Start

JUDGE = {
    "type": "score_model",
    "name": "judge",
    "id": "judge-1",
    "model": "judge",
    "input": [{"role": "user", "content": "How good is {{ sample.output_text }}?"}],
}


@pytest.fixture
def models() -> Iterator[Models]:
    with open_house() as made:
        yield made


def imported(server: Server, tmp_path: Path, *criteria: dict[str, Any]) -> str:
    """The path of an eval with one run of two rows, loaded while the server runs."""
    given = three_rows(tmp_path / "archive").evals(hosted.eval_(testing_criteria=[hosted.EXACT, *criteria]))
    given.run(hosted.run(passed=1), [hosted.item("evalrun_1", 0), hosted.item("evalrun_1", 1, passed=False)])
    done = command.run(
        ["import", "load", str(tmp_path / "archive")], env={"FAIRMARK_HOME": str(server.home)}, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    return "/v1/evals/eval_1"


def ended(server: Server, path: str) -> dict[str, Any]:
    wait_for(lambda: server.get(path).json()["status"] not in ("queued", "in_progress"))
    run: dict[str, Any] = server.get(path).json()
    return run


def test_what_was_loaded_is_there_at_once_with_its_ids_and_where_it_came_from(start: Start, tmp_path: Path) -> None:
    server = start()
    where = imported(server, tmp_path)
    run = server.get(f"{where}/runs/evalrun_1").json()
    assert run["imported"]["source"] == hosted.SOURCE
    assert run["report_url"] == f"{server.url}/evals/eval_1/runs/evalrun_1"
    assert run["result_counts"] == hosted.run(passed=1)["result_counts"]
    assert [each["id"] for each in server.get(f"{where}/runs").json()["data"]] == ["evalrun_1"]
    assert server.get("/v1/evals").json()["data"][0]["metadata"] == hosted.eval_()["metadata"]
    items = server.get(f"{where}/runs/evalrun_1/output_items?status=fail").json()
    assert (items["first_id"], items["data"]) == (
        "outputitem_evalrun_1_1",
        [hosted.item("evalrun_1", 1, passed=False)],
    )
    one = server.get(f"{where}/runs/evalrun_1/output_items/outputitem_evalrun_1_0").json()
    assert one == hosted.item("evalrun_1", 0)
    assert server.get("/v1/files/file-1").json()["imported"]["source"] == hosted.SOURCE
    assert server.get("/v1/files/file-1/content").body == hosted.file()[1]
    cancelled = server.post(f"{where}/runs/evalrun_1/cancel", {})
    assert (cancelled.status, cancelled.json()["status"]) == (200, "completed")
    assert server.request("DELETE", where).status == 200
    assert server.get(f"{where}/runs/evalrun_1").status == 404


def test_a_second_time_no_judge_is_asked_where_nothing_changed(start: Start, tmp_path: Path, models: Models) -> None:
    server = start(env={**models.environment, "FAIRMARK_JUDGE_CACHE": "on"})
    where = imported(server, tmp_path, JUDGE)
    first = server.post(f"{where}/runs/evalrun_1/regrade", {"name": "again"})
    assert first.status == 201
    assert first.json()["regraded_from"] == "evalrun_1"
    run = ended(server, f"{where}/runs/{first.json()['id']}")
    assert (run["status"], run["result_counts"]["passed"], run["result_counts"]["failed"]) == ("completed", 1, 1)
    assert run["data_source"] == hosted.run()["data_source"]
    assert sorted(models.asked_of("judge")) == ["How good is Paris?", "How good is Rome?"]
    assert models.asked_of("gpt-4o") == []
    second = server.request("POST", f"{where}/runs/{run['id']}/regrade", body=b"")
    again = ended(server, f"{where}/runs/{second.json()['id']}")
    assert (again["regraded_from"], again["result_counts"]) == (run["id"], run["result_counts"])
    assert len(models.asked_of("judge")) == 2
    assert [each["id"] for each in again["testing_criteria"]] == [hosted.EXACT_ID, "judge-1"]


def test_an_eval_whose_criteria_cannot_run_says_so_and_takes_no_run(start: Start, tmp_path: Path) -> None:
    server = start()
    where = imported(server, tmp_path, {"type": "odd", "name": "odd", "id": "odd-1"})
    criteria = server.get(where).json()["testing_criteria"]
    assert criteria[0] == hosted.EXACT
    assert (criteria[1]["id"], criteria[1]["runnable"]) == ("odd-1", False)
    source = {"type": "jsonl", "source": {"type": "file_id", "id": "file-1"}}
    for path, body in ((f"{where}/runs", {"data_source": source}), (f"{where}/runs/evalrun_1/regrade", {})):
        refused = server.post(path, body)
        assert (refused.status, refused.error["param"]) == (400, "testing_criteria[1]")
        assert '"odd" cannot grade here: ' in refused.error["message"]
    unknown = server.post(f"{where}/runs/evalrun_1/regrade", {"graders": []})
    assert (unknown.status, unknown.error["param"], unknown.error["code"]) == (400, "graders", "unknown_parameter")
    assert server.post(f"{where}/runs/evalrun_2/regrade", {}).status == 404


def test_the_command_asks_a_server_or_grades_by_itself(start: Start, tmp_path: Path) -> None:
    server = start()
    imported(server, tmp_path)
    (tmp_path / "criteria.json").write_text(json.dumps([{**hosted.EXACT, "reference": "Rome"}]))
    args = ["runs", "regrade", "eval_1", "evalrun_1", "--criteria", "criteria.json"]
    env = {"FAIRMARK_HOME": str(server.home)}
    asked = command.run([*args, "--server", server.url], env=env, cwd=tmp_path)
    assert asked.returncode == 0, asked.stderr
    run = ended(server, f"/v1/evals/eval_1/runs/{json.loads(asked.stdout)['id']}")
    assert (run["result_counts"]["passed"], run["result_counts"]["failed"]) == (1, 1)
    busy = command.run(args, env=env, cwd=tmp_path)
    assert (busy.returncode, busy.stdout) == (2, "")
    assert "another Fairmark server uses this database" in busy.stderr
    server.stop()
    here = command.run(args, env=env, cwd=tmp_path)
    assert here.returncode == 0, here.stderr
    assert json.loads(here.stdout)["result_counts"]["passed"] == 1
    for more, words in ((["--judge", "x"], "It takes OLD=NEW"), (["--judge", "x=y"], "no criterion asks this model")):
        wrong = command.run([*args, *more], env=env, cwd=tmp_path)
        assert (wrong.returncode, words in wrong.stderr) == (2, True), wrong.stderr
