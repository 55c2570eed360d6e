"""Labels over HTTP."""

import json
from typing import Any

import pytest

from tests.server.client import EXACT
from tests.server.projects import Project, api, key, ours, theirs
from tests.store.conftest import postgres  # noqa: F401  # a fixture

__all__ = ["api", "key", "ours", "theirs"]


class Labelled:
    """A run whose rows are all right but the last."""

    def __init__(self, project: Project, rows: int = 4) -> None:
        self.project = project
        self.where = project.new_eval(EXACT)
        self.id = project.ended(self.where, project.new_run(self.where, rows))["id"]

    def label(self, row: int, label: str = "pass", **more: Any) -> Any:
        return self.project.post("/v1/labels", {"run_id": self.id, "row": row, "label": label, **more})

    def listed(self, query: str = "") -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.project.get(f"/v1/labels?run_id={self.id}{query}").json()["data"]
        return found

    def send(self, lines: bytes, query: str = "") -> Any:
        path = f"/v1/labels/import?run_id={self.id}{query}"
        return self.project.server.request("POST", path, headers=self.project.headers, body=lines)


@pytest.fixture
def run(ours: Project) -> Labelled:
    return Labelled(ours)


def test_a_label_is_kept_listed_and_taken_back(run: Labelled, ours: Project) -> None:
    made = run.label(1, "fail", rater="kim", note="no")
    assert made.status == 201, made.body
    shown = made.json()
    assert (shown["object"], shown["label"], shown["rater"], shown["row"]) == ("label", "fail", "kim", 1)
    run.label(2, rater="lee")
    assert [each["id"] for each in run.listed("&rater=kim")] == [shown["id"]]
    assert len(run.listed()) == 2
    assert ours.get(f"/v1/labels/{shown['id']}").json() == shown
    assert ours.ask("DELETE", f"/v1/labels/{shown['id']}").json()["deleted"] is True
    assert ours.ask("DELETE", f"/v1/labels/{shown['id']}").status == 404
    assert [each["rater"] for each in run.listed()] == ["lee"]


def test_without_a_name_it_is_the_keys(run: Labelled) -> None:
    assert run.label(0).json()["rater"] == "test"


def test_a_label_sent_again_counts_once_and_one_taken_back_stays_away(run: Labelled, ours: Project) -> None:
    for _ in range(3):
        assert run.label(0, id="label_again1").json()["id"] == "label_again1"
    assert len(run.listed()) == 1
    ours.ask("DELETE", "/v1/labels/label_again1")
    answer = run.label(0, id="label_again1")
    assert (answer.status, answer.json()) == (200, {"object": "label.deleted", "id": "label_again1", "deleted": True})
    assert run.listed() == []


def test_an_older_label_that_comes_late_is_answered_with_the_one_that_counts(run: Labelled) -> None:
    first = run.label(0, "fail").json()
    assert run.label(0, "pass", ago_s=100).json() == first


def test_other_projects_see_nothing_and_change_nothing(run: Labelled, theirs: Project) -> None:
    made = run.label(0).json()
    assert theirs.post("/v1/labels", {"run_id": run.id, "row": 0, "label": "fail", "rater": "x"}).status == 404
    assert theirs.get(f"/v1/labels?run_id={run.id}").status == 404
    assert theirs.get("/v1/labels").json()["data"] == []
    assert theirs.get(f"/v1/labels/{made['id']}").status == 404
    assert theirs.ask("DELETE", f"/v1/labels/{made['id']}").status == 404
    assert theirs.get(f"/v1/labels/export?run_id={run.id}").status == 404
    assert theirs.get(f"{run.where}/runs/{run.id}/corrected").status == 404
    mine = Labelled(theirs)
    answer = mine.label(0, id=made["id"])
    assert (answer.status, answer.error["code"], answer.error["param"]) == (409, "duplicate_id", "id")
    assert len(run.listed()) == 1


def test_labels_go_out_and_come_in_as_lines(run: Labelled, ours: Project) -> None:
    run.label(1, "fail", rater="kim", note="\u2028<b>")
    out = ours.get(f"/v1/labels/export?run_id={run.id}")
    assert out.headers["content-type"].startswith("application/x-ndjson")
    (line,) = [json.loads(each) for each in out.body.decode().split("\n") if each]
    assert (line["item"], line["sample"], line["label"], line["rater"]) == ({"answer": "Paris"}, "Paris", "fail", "kim")
    again = Labelled(ours)
    done = again.send(out.body)
    assert (done.status, done.json()["labels"]) == (200, 1), done.body
    assert [each["note"] for each in again.listed()] == ["\u2028<b>"]
    bad = again.send(out.body + b'{"item": {}, "label": "pass"}\n')
    assert (bad.status, bad.error["param"]) == (400, "line 2")
    assert "line 2: the run" in bad.error["message"]
    assert len(again.listed()) == 1


def test_a_corrected_rate_takes_thirty_labels_and_says_so(ours: Project) -> None:
    run = Labelled(ours, 60)
    path = f"{run.where}/runs/{run.id}/corrected"
    assert ours.get(path).error["code"] == "no_labels"
    run.label(0)
    answer = ours.get(path)
    assert (answer.status, answer.error["message"]) == (
        409, "1 graded row is labelled; a corrected rate takes 30.",
    )  # fmt: skip
    lines = [{"item_id": "", "item": {"answer": "Paris"}, "sample": "Paris", "label": "pass"}]
    listed = ours.get(f"{run.where}/runs/{run.id}/output_items?limit=100").json()["data"]
    lines = [{"item_id": each["id"], "label": "pass" if at % 2 else "fail"} for at, each in enumerate(listed[:40])]
    assert run.send("".join(json.dumps(line) + "\n" for line in lines).encode(), "&rater=lee").status == 200
    ours.ask("DELETE", f"/v1/labels/{run.listed('&rater=test')[0]['id']}")
    found = ours.get(path).json()
    assert (found["judged"], found["labels"], found["run_id"]) == (1.0, 40, run.id)
    assert found["low"] < 0.5 < found["high"]
    assert found["words"].startswith("judge says 100.0%, corrected 50.0% (")


def test_pushed_scores_go_out_as_labelled_lines(run: Labelled, ours: Project, key: str) -> None:
    ours.register(key, {"type": "custom", "name": "editors"})
    (first, *_) = ours.get(f"{run.where}/runs/{run.id}/output_items").json()["data"]
    pushed = {"scores": [{"sample_id": first["id"], "value": 0.5, "reasoning": "so so"}]}
    assert ours.post(f"/v1/graders/{key}/scores", pushed).status == 200
    line = json.loads(ours.get(f"/v1/labels/export?run_id={run.id}&grader={key}").body)
    assert (line["score"], line["rater"], line["note"], line["sample"]) == (0.5, key, "so so", "Paris")
    assert ours.get(f"{run.where}/runs/{run.id}/corrected?grader={key}").status == 409


@pytest.mark.thorough
def test_ten_thousand_labels_come_in_at_once_and_are_listed(ours: Project) -> None:
    run = Labelled(ours, 100)
    listed = ours.get(f"{run.where}/runs/{run.id}/output_items?limit=100").json()["data"]
    lines = [
        {"item_id": each["id"], "label": "pass", "rater": f"rater {rater}"} for each in listed for rater in range(100)
    ]
    content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    for _ in range(2):
        assert run.send(content).json()["labels"] == 10_000
    page = ours.get(f"/v1/labels?run_id={run.id}&limit=100&order=desc").json()
    assert (len(page["data"]), page["has_more"]) == (100, True)
    assert ours.get(f"{run.where}/runs/{run.id}/corrected").json()["labels"] == 100


@pytest.mark.parametrize(
    ("query", "words"), [("kind=nonsense", "Use one of: label, score, preferred"), ("run_id=", "run_id: missing")]
)
def test_what_is_wrong_in_a_query_is_told(run: Labelled, ours: Project, query: str, words: str) -> None:
    answer = ours.get(
        f"/v1/labels/export?run_id={run.id}&{query}" if "run_id" not in query else f"/v1/labels/export?{query}"
    )
    assert (answer.status, words in answer.error["message"]) == (400, True)
