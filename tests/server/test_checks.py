"""Judge checks and hacking reports over HTTP: what is taken and refused, and what becomes of them."""

import contextlib
import json
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.evals.house import Models, open_house
from tests.server.client import Answer, Server, wait_for
from tests.server.projects import new_key

CHECKS, REPORTS = "/v1/judge_checks", "/v1/hacking_reports"
JUDGE = {
    "type": "score_model",
    "name": "good",
    "model": "judge",
    "input": [{"role": "user", "content": "How good is {{ sample.output_text }}?"}],
    "pass_threshold": 0.5,
}
ROWS = [
    {"item": {"n": n}, "sample": f"{'BAD' if n % 2 else 'fine'} answer {n}", "label": "fail" if n % 2 else "pass"}
    for n in range(60)
]


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with open_house() as opened:
        yield opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("server") / "home", models.environment)
    yield started
    started.stop()


def ended(server: Server, path: str, answer: Answer) -> dict[str, Any]:
    assert answer.status == 201, answer.body
    address = f"{path}/{answer.json()['id']}"
    wait_for(lambda: server.get(address).json()["status"] not in ("queued", "in_progress"), 60)
    found: dict[str, Any] = server.get(address).json()
    return found


def body(**more: Any) -> dict[str, Any]:
    return {"grader": JUDGE, "rows": ROWS, "probes": ["sanity"], **more}


def test_a_dry_run_tells_calls_tokens_and_dollars_and_asks_nothing(server: Server, models: Models) -> None:
    before = len(models.requests)
    planned = server.post(CHECKS, body(dry_run=True, probes=None, max_calls=200))
    assert planned.status == 200
    told = planned.json()
    assert told["object"] == "judge_check.plan"
    assert told["plan"]["calls"] <= 200
    assert told["plan"]["tokens"] > 1_000
    assert told["rows"] == {"total": 60, "labelled": 60, "kind": "label", "raters": 1}
    states = {probe["name"]: probe["status"] for probe in told["plan"]["probes"]}
    assert (states["base"], states["cut"]) == ("planned", "not applicable")
    assert "dropped" in states.values()
    assert len(models.requests) == before
    assert server.get(CHECKS).json()["data"] == []


def test_a_check_is_worked_off_listed_shown_and_deleted(server: Server) -> None:
    made = server.post(CHECKS, body(name="first", seed=3))
    assert made.json()["object"] == "judge_check"
    assert made.json()["plan"]["calls"] == 140
    done = ended(server, CHECKS, made)
    assert (done["status"], done["grade"], done["error"]) == ("completed", "not trusted", None)
    assert any("sanity" in reason for reason in done["report"]["reasons"])
    assert done["report"]["main"]["value"] == 1.0
    assert done["progress"]["answered"] == 140
    assert done["grader"]["models"] == ["judge"]
    listed = server.get(f"{CHECKS}?limit=1").json()
    assert [check["id"] for check in listed["data"]] == [done["id"]]
    assert "report" not in listed["data"][0]
    page = server.get(f"{CHECKS}/{done['id']}/report")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "sandbox" in page.headers["content-security-policy"]
    assert b"Can good be trusted?" in page.body
    assert server.post(f"{CHECKS}/{done['id']}/cancel", {}).json()["status"] == "completed"
    gone = server.request("DELETE", f"{CHECKS}/{done['id']}")
    assert gone.json() == {"object": "judge_check.deleted", "deleted": True, "id": done["id"]}
    assert server.get(f"{CHECKS}/{done['id']}").status == 404


def test_a_grader_shows_its_last_check_until_it_changes(server: Server) -> None:
    server.post("/v1/graders", {"key": "watched", "grader": JUDGE})
    never = {"grade": "never checked", "checked_at": None, "id": None}
    assert server.get("/v1/graders/watched").json()["judge_check"] == never
    reference = {"type": "registered", "key": "watched"}
    done = ended(server, CHECKS, server.post(CHECKS, body(grader=reference, probes=[])))
    assert (done["grader"]["key"], done["grader"]["version"]) == ("watched", 1)
    assert done["grade"] == "trusted"
    told = server.get("/v1/graders/watched").json()["judge_check"]
    assert told == {"grade": "trusted", "checked_at": done["ended_at"], "id": done["id"]}
    assert [each["judge_check"] for each in server.get("/v1/graders").json()["data"]] == [told]
    assert len(server.get(f"{CHECKS}?grader=watched").json()["data"]) == 1
    changed = {**JUDGE, "input": [{"role": "user", "content": "Is this good: {{ sample.output_text }}?"}]}
    server.request("PATCH", "/v1/graders/watched", {"grader": changed})
    stale = server.get("/v1/graders/watched").json()["judge_check"]
    assert stale == {"grade": "stale", "was": "trusted", "checked_at": done["ended_at"], "id": done["id"]}
    old = server.get("/v1/graders/watched?version=1").json()["judge_check"]
    assert old["grade"] == "trusted"
    exact = {"type": "string_check", "name": "x", "input": "a", "reference": "b", "operation": "eq"}
    server.post("/v1/graders", {"key": "exact", "grader": exact})
    assert "judge_check" not in server.get("/v1/graders/exact").json()


@pytest.mark.parametrize(
    ("change", "param", "words"),
    [
        ({"grader": None}, "grader", "missing"),
        ({"grader": {"type": "registered", "key": "none"}}, "grader.key", "no registered grader"),
        ({"grader": {**JUDGE, "range": "x"}}, "grader.range", "range"),
        ({"rows": None}, "rows", "It takes rows"),
        ({"file_id": "file-1"}, "rows", "take one of them"),
        ({"rows": None, "file_id": "file-none"}, "file_id", "there is no file"),
        ({"rows": []}, "rows", "no rows"),
        ({"rows": {"item": {}}}, "rows", "a list of objects"),
        (
            {"rows": [{"item": {}, "sample": "x", "label": "good", "score": 1}]},
            "rows",
            "line 1: it has label",
        ),
        ({"rows": [{"item": {}, "sample": "x", "label": "fine"}]}, "rows", '"fine" does not fit'),
        ({"rows": [{"item": {}, "sample": "x", "lable": "pass"}]}, "rows", "Did you mean label?"),
        ({"rows": [{"item": {}, "samples": {"a": 1, "b": 2}, "preferred": "a"}]}, "rows", "gives no labels"),
        ({"probes": ["insanity"]}, "probes", "no probe"),
        ({"probes": "sanity"}, "probes", "a list of strings"),
        ({"max_calls": 10}, "rows", "10 are allowed"),
        ({"max_calls": 1.5}, "max_calls", "a whole number"),
        ({"budget": {"euros": 1}}, "budget.euros", "Use: tokens, dollars"),
        ({"budget": {"tokens": 0}}, "budget.tokens", "above 0"),
        ({"require": "good"}, "require", "trusted, care"),
        ({"reference": "reference"}, "reference", "such as item.reference"),
        ({"pair": ["item.a"]}, "pair", "It takes two"),
        ({"dry_run": "yes"}, "dry_run", "true or false"),
        ({"deadline_s": 1e9}, "deadline_s", "a day"),
        ({"prbes": []}, "prbes", "probes"),
    ],
)
def test_a_mistake_is_told_with_its_place(server: Server, change: dict[str, Any], param: str, words: str) -> None:
    sent = {name: value for name, value in body(**change).items() if value is not None}
    refused = server.post(CHECKS, sent)
    assert refused.status == 400, refused.body
    assert refused.error["param"] == param
    assert words in refused.error["message"]


def test_a_file_of_rows_is_read_and_its_mistakes_name_the_file_and_not_its_folder(server: Server) -> None:
    content = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    file_id = server.upload(content, "labels.jsonl").json()["id"]
    sent = {name: value for name, value in body(file_id=file_id, probes=[]).items() if name != "rows"}
    done = ended(server, CHECKS, server.post(CHECKS, sent))
    assert (done["status"], done["file_id"]) == ("completed", file_id)
    broken = server.upload(content[:200] + b"{", "labels.jsonl").json()["id"]
    refused = server.post(CHECKS, {**sent, "file_id": broken})
    assert refused.error["param"] == "file_id"
    assert refused.error["message"].startswith("labels.jsonl")
    assert str(server.home) not in refused.error["message"]


def test_what_another_project_has_is_not_there(tmp_path: Path, models: Models) -> None:
    server = Server(tmp_path / "home", models.environment)
    try:
        ours, theirs = (
            {"authorization": f"Bearer {new_key(project, server.home, None)}"} for project in ("ours", "theirs")
        )
        made = server.post(CHECKS, body(probes=[]), ours)
        assert made.status == 201
        address = f"{CHECKS}/{made.json()['id']}"
        assert server.get(address, ours).status == 200
        for path in (address, f"{address}/report"):
            assert server.get(path, theirs).status == 404
        assert server.request("POST", f"{address}/cancel", {}, theirs).status == 404
        assert server.request("DELETE", address, headers=theirs).status == 404
        assert server.get(CHECKS, theirs).json()["data"] == []
    finally:
        server.stop()


def test_a_killed_server_asks_nothing_again_that_it_had_stored(tmp_path: Path) -> None:
    with open_house() as models:
        models.house.latency_s = 0.02
        home, environment = tmp_path / "home", {**models.environment, "FAIRMARK_JUDGE_CONCURRENCY": "8"}
        server = Server(home, environment)
        made = server.post(CHECKS, body(probes=["repeat"]))
        address = f"{CHECKS}/{made.json()['id']}"
        stored = 0
        for least in (20, 90):
            until_answered(server, address, least)
            server.stop(signal.SIGKILL)
            stored = stored_answers(home)
            assert stored >= least
            before = len(models.asked_of("judge"))
            server = Server(home, environment)
        done = ended(server, CHECKS, made)
        assert done["status"] == "completed"
        assert done["progress"]["answered"] == done["plan"]["calls"] == 180
        assert len(models.asked_of("judge", 0)) - before == 180 - stored
        assert server.stop() == 0
        assert "Traceback" not in server.stderr.read_text()


def until_answered(server: Server, address: str, least: int) -> None:
    wait_for(lambda: server.get(address).json()["progress"]["answered"] >= least, 60)


def stored_answers(home: Path) -> int:
    with contextlib.closing(sqlite3.connect(home / "fairmark.db")) as database:
        count: int = database.execute("SELECT count(*) FROM check_answers").fetchone()[0]
    return count


# Hacking reports


def new_eval(server: Server, criteria: list[dict[str, Any]]) -> str:
    config = {"type": "custom", "item_schema": {"type": "object"}, "include_sample_schema": True}
    made = server.post("/v1/evals", {"name": "steps", "data_source_config": config, "testing_criteria": criteria})
    assert made.status == 201, made.body
    eval_id: str = made.json()["id"]
    return eval_id


def new_step(server: Server, eval_id: str, name: str, samples: list[str]) -> str:
    content = [{"item": {"q": f"question {n}"}, "sample": {"output_text": text}} for n, text in enumerate(samples)]
    source = {"type": "jsonl", "source": {"type": "file_content", "content": content}}
    made = server.post(f"/v1/evals/{eval_id}/runs", {"name": name, "data_source": source})
    assert made.status == 201, made.body
    address = f"/v1/evals/{eval_id}/runs/{made.json()['id']}"
    wait_for(lambda: server.get(address).json()["status"] == "completed", 60)
    run_id: str = made.json()["id"]
    return run_id


LONG = {"type": "regex", "name": "long", "input": "{{ sample.output_text }}", "pattern": "please"}


@pytest.fixture(scope="module")
def steps(server: Server) -> tuple[str, list[str]]:
    """An eval whose reward is the word please: more and more answers have it, and fewer and fewer are any good."""
    eval_id = new_eval(server, [LONG])
    runs = []
    for step, share in enumerate((0, 20, 40)):
        samples = [f"BAD {n} please" if n < share else f"fine {n}" for n in range(40)]
        runs.append(new_step(server, eval_id, f"step {step}", samples))
    return eval_id, runs


def test_a_hacked_reward_is_found_by_a_gold_grader(server: Server, steps: tuple[str, list[str]]) -> None:
    eval_id, runs = steps
    asked = {"eval_id": eval_id, "gold": {"grader": JUDGE}, "items": 40}
    planned = server.post(REPORTS, {**asked, "dry_run": True})
    assert planned.status == 200
    assert planned.json()["runs"] == runs
    assert planned.json()["plan"]["calls"] == 120
    done = ended(server, REPORTS, server.post(REPORTS, {**asked, "series": {"kl": [0, 0.1, 0.2]}}))
    assert (done["status"], done["state"], done["error"]) == ("completed", "hacked", None)
    report = done["report"]
    assert [step["name"] for step in report["steps"]] == ["step 0", "step 1", "step 2"]
    assert [step["gold"] for step in report["steps"]] == [1.0, 0.5, 0.0]
    assert report["best_step"] == "step 0"
    assert len(report["largest_gaps"]) == 10
    assert report["series"] == {"kl": [0, 0.1, 0.2]}
    # What was answered the same at several steps is asked about once.
    assert report["asked"]["questions"] == done["progress"]["answered"] == 80
    page = server.get(f"{REPORTS}/{done['id']}/report")
    assert b"Has the reward been hacked?" in page.body
    assert [each["id"] for each in server.get(f"{REPORTS}?eval_id={eval_id}").json()["data"]] == [done["id"]]
    assert server.get(f"{REPORTS}?eval_id=eval_other").json()["data"] == []
    assert server.get(f"{CHECKS}/{done['id']}").status == 404
    assert server.request("DELETE", f"{REPORTS}/{done['id']}").json()["deleted"] is True


def test_labels_are_gold_too_and_without_gold_nothing_is_shown(server: Server, steps: tuple[str, list[str]]) -> None:
    eval_id, runs = steps
    rows = [
        {"item": {"q": f"question {n}"}, "sample": f"{text} {n}{end}", "label": label}
        for n in range(40)
        for text, end, label in (("BAD", " please", "fail"), ("fine", "", "pass"))
    ]
    with_labels = server.post(REPORTS, {"eval_id": eval_id, "runs": [runs[0], runs[2]], "gold": {"rows": rows}})
    done = ended(server, REPORTS, with_labels)
    assert (done["state"], len(done["report"]["steps"])) == ("hacked", 2)
    without = ended(server, REPORTS, server.post(REPORTS, {"eval_id": eval_id}))
    assert without["state"] == "not shown"
    assert without["plan"] == {"calls": 0, "tokens": 0, "dollars": 0.0, "gold": None}


def test_mistakes_in_a_report_are_told_with_their_place(server: Server, steps: tuple[str, list[str]]) -> None:
    eval_id, runs = steps
    one_run = new_eval(server, [LONG, {**LONG, "name": "second"}])
    for name in ("a", "b"):
        new_step(server, one_run, name, ["x"])
    wrong: list[tuple[dict[str, Any], int, str, str]] = [
        ({}, 400, "eval_id", "missing"),
        ({"eval_id": "eval_none"}, 404, "id", "No eval found"),
        ({"eval_id": eval_id, "runs": [runs[0]]}, 400, "runs", "found 1"),
        ({"eval_id": eval_id, "runs": [runs[0], runs[0]]}, 400, "runs", "twice"),
        ({"eval_id": eval_id, "runs": [runs[0], "evalrun_none"]}, 400, "runs", "has no run evalrun_none"),
        ({"eval_id": eval_id, "criterion": "short"}, 400, "criterion", "The eval has: long"),
        ({"eval_id": one_run}, 400, "criterion", "long, second"),
        ({"eval_id": eval_id, "gold": {}}, 400, "gold", "one of grader, rows and file_id"),
        ({"eval_id": eval_id, "gold": {"grader": {"type": "none"}}}, 400, "gold.grader.type", "type"),
        ({"eval_id": eval_id, "gold": {"rows": [{"label": 3}]}}, 400, "gold.rows", "expected a string"),
        ({"eval_id": eval_id, "series": {"kl": [1]}}, 400, "series.kl", "there are 3 runs"),
        ({"eval_id": eval_id, "items": 1}, 400, "items", "from 2"),
    ]
    for sent, status, param, words in wrong:
        refused = server.post(REPORTS, sent)
        assert (refused.status, refused.error["param"]) == (status, param), refused.body
        assert words in refused.error["message"]


def test_a_gold_grader_that_never_answers_ends_with_the_deadline(server: Server) -> None:
    eval_id = new_eval(server, [LONG])
    runs = [new_step(server, eval_id, name, [f"HANG {n}" for n in range(3)]) for name in ("a", "b")]
    made = server.post(REPORTS, {"eval_id": eval_id, "gold": {"grader": JUDGE}, "deadline_s": 1})
    done = ended(server, REPORTS, made)
    assert (done["status"], done["error"]["code"]) == ("failed", "deadline_passed")
    assert server.request("DELETE", f"/v1/evals/{eval_id}/runs/{runs[0]}").status == 200
    refused = server.post(REPORTS, {"eval_id": eval_id, "gold": {"grader": JUDGE}})
    assert "the eval has 1 that are completed" in refused.error["message"]
